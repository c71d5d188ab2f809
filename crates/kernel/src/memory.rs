//! Memory that is shared with the kernel: files that both sides map. One side waits for a message while the other one
//! works, so nothing is accessed by two at the same time.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use vm_memory::{FileOffset, MmapRegion, VolatileMemory};

/// A part of a file, as memory.
pub struct Mapping(MmapRegion);

impl Mapping {
    /// Maps `size` bytes of the file from `offset` on.
    pub fn new(file: OwnedFd, offset: u64, size: u64) -> io::Result<Mapping> {
        let size = usize::try_from(size).map_err(io::Error::other)?;
        let region = MmapRegion::from_file(FileOffset::new(File::from(file), offset), size);
        Ok(Mapping(region.map_err(io::Error::other)?))
    }

    /// Fills `bytes` from a place on.
    pub fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.0.get_slice(at as usize, bytes.len()).map_err(io::Error::other)?.copy_to(bytes);
        Ok(())
    }

    /// Writes from a place on.
    pub fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.get_slice(at as usize, bytes.len()).map_err(io::Error::other)?.copy_from(bytes);
        Ok(())
    }
}

/// A part of the kernel's memory.
struct Region {
    start: u64,
    size: u64,
    mapping: Mapping,
}

/// The parts of the kernel's memory that a card may use.
#[derive(Default)]
pub struct Memory {
    regions: Vec<Region>,
}

impl Memory {
    /// Takes a part: its address, its size, and where it begins in the file.
    pub fn add(&mut self, (start, size, offset): (u64, u64, u64), file: OwnedFd) -> io::Result<()> {
        self.regions.push(Region { start, size, mapping: Mapping::new(file, offset, size)? });
        Ok(())
    }

    fn find(&self, address: u64, length: usize) -> io::Result<(&Mapping, u64)> {
        let holds = |region: &&Region| {
            let from = address.checked_sub(region.start);
            from.and_then(|from| from.checked_add(length as u64)).is_some_and(|end| end <= region.size)
        };
        let region = self.regions.iter().find(holds);
        let region =
            region.ok_or_else(|| io::Error::other(format!("address {address:#x} is not of the kernel")))?;
        Ok((&region.mapping, address - region.start))
    }

    /// Fills `bytes` from an address on.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        let (mapping, at) = self.find(address, bytes.len())?;
        mapping.read(at, bytes)
    }

    /// Writes from an address on.
    pub fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        let (mapping, at) = self.find(address, bytes.len())?;
        mapping.write(at, bytes)
    }

    /// A number of 16 bits.
    pub fn u16(&self, address: u64) -> io::Result<u16> {
        let mut bytes = [0; 2];
        self.read(address, &mut bytes)?;
        Ok(u16::from_le_bytes(bytes))
    }
}
