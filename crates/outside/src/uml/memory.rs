//! Memory that is shared with the kernel: files that both sides map. One side waits for a message while the other one
//! works, so nothing is accessed by two at the same time.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use vm_memory::{Bytes, FileOffset, GuestAddress, GuestMemoryMmap, GuestRegionMmap, MmapRegion};

/// The parts of memory that are shared.
#[derive(Default)]
pub struct Memory(GuestMemoryMmap);

impl Memory {
    /// Maps a part: its address, its size, and where it begins in the file.
    pub fn add(&mut self, (start, size, offset): (u64, u64, u64), file: OwnedFd) -> io::Result<()> {
        let size = usize::try_from(size).map_err(io::Error::other)?;
        let region = MmapRegion::from_file(FileOffset::new(File::from(file), offset), size);
        let region = GuestRegionMmap::new(region.map_err(io::Error::other)?, GuestAddress(start));
        let region = region.ok_or_else(|| io::Error::other(format!("no memory has address {start:#x}")))?;
        self.0 = self.0.insert_region(Arc::new(region)).map_err(io::Error::other)?;
        Ok(())
    }

    /// Fills `bytes` from an address on.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.0.read_slice(bytes, GuestAddress(address)).map_err(io::Error::other)
    }

    /// Writes from an address on.
    pub fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_slice(bytes, GuestAddress(address)).map_err(io::Error::other)
    }

    /// A number of 16 bits.
    pub fn u16(&self, address: u64) -> io::Result<u16> {
        let mut bytes = [0; 2];
        self.read(address, &mut bytes)?;
        Ok(u16::from_le_bytes(bytes))
    }
}
