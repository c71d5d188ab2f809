//! The kernel's process. Until it is up, a folder holds its sockets. It ends with this process.
//!
//! This process holds a lock on the folder. One without a lock was left by a process that was killed; the next start
//! deletes it.

use crate::error::Error;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat, open};
use rustix::process::{Pid, Signal, geteuid, kill_process_group};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Seek};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A kernel that `roamlab kernel build` has built.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kernel {
    folder: PathBuf,
}

/// The files of a built kernel.
const LINUX: &str = "linux";
const INITRAMFS: &str = "initramfs";
const SHIM: &str = "shim.so";

impl Kernel {
    /// The kernel of this version in the cache: `$ROAMLAB_KERNELS`, or `roamlab/kernel` in the user's cache.
    #[expect(clippy::disallowed_methods, reason = "where the kernel is; its behaviour does not depend on it")]
    pub fn find(version: &str) -> Option<Kernel> {
        let variable =
            |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
        let root = variable("ROAMLAB_KERNELS").or_else(|| Some(cache?.join("roamlab/kernel")))?;
        let folder = root.join(version).canonicalize().ok()?;
        [LINUX, INITRAMFS, SHIM].iter().all(|name| folder.join(name).is_file()).then_some(Kernel { folder })
    }
}

/// A running kernel, killed when it is dropped. If this process is killed the kernel is too: its preloaded library asks for
/// that.
pub struct Running {
    child: Child,
    _processor: SharedProcessor,
    folder: Option<Folder>,
    console: File,
}

/// A folder for the sockets of a kernel that starts, which is deleted when it is dropped.
struct Folder {
    path: PathBuf,
    _lock: OwnedFd,
}

/// How the names of these folders begin.
const FOLDERS: &str = "roamlab-kernel-";
/// Names that are tried: each may be that of a folder which another user's process has left.
const NAMES: u32 = 1000;

impl Folder {
    /// A new one in this place.
    fn new(place: &Path, number: u32) -> io::Result<Folder> {
        Folder::sweep(place);
        for attempt in 0..NAMES {
            let path = place.join(format!("{FOLDERS}{}-{number}-{attempt}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(()) => {
                    // Another start deletes it if it comes before the lock.
                    if let Some(lock) = Folder::lock(&path).filter(|_| path.is_dir()) {
                        return Ok(Folder { path, _lock: lock });
                    }
                }
            }
        }
        Err(io::Error::other(format!("no new folder in {}", place.display())))
    }

    /// A lock on a folder of this user; none if another process has it, or if it is no such folder.
    fn lock(path: &Path) -> Option<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = open(path, flags, Mode::empty()).ok()?;
        let is_ours = fstat(&folder).is_ok_and(|about| about.st_uid == geteuid().as_raw());
        (is_ours && flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok()).then_some(folder)
    }

    /// Deletes what killed processes have left.
    fn sweep(place: &Path) {
        for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
            let is_one = entry.file_name().to_string_lossy().starts_with(FOLDERS);
            if let Some(_lock) = is_one.then(|| Folder::lock(&entry.path())).flatten() {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// This thread and the kernel that it starts are on one processor until this is dropped: they take turns, and a turn
/// between two processors costs some three times as much.
struct SharedProcessor(Option<CpuSet>);

impl SharedProcessor {
    /// Takes one of the processors that this thread may use, another one for the next kernel.
    fn take(number: usize) -> SharedProcessor {
        let allowed = sched_getaffinity(None).ok();
        if let Some(allowed) = &allowed {
            let usable: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
            if let Some(&cpu) = usable.get(number % usable.len().max(1)) {
                let mut one = CpuSet::new();
                one.set(cpu);
                let _ = sched_setaffinity(None, &one); // without it the run is only slower
            }
        }
        SharedProcessor(allowed)
    }
}

impl Drop for SharedProcessor {
    fn drop(&mut self) {
        if let Some(allowed) = &self.0 {
            let _ = sched_setaffinity(None, allowed);
        }
    }
}

/// The sockets that a kernel connects to: its clock, and a card for each host.
pub struct Sockets {
    pub clock: UnixListener,
    pub cards: Vec<UnixListener>,
}

/// How much a kernel has to hold.
#[derive(Clone, Copy)]
pub struct Load {
    pub hosts: usize,
    pub flows: usize,
}

/// Lines of a kernel that has ended.
const LAST_LINES: usize = 12;

/// The kernel's memory in KiB. A flow has two threads and two sockets inside: 2,000 flows that began at the
/// same time took 110 KiB each, and a kernel without memory ends itself. What it does not use takes none of
/// the machine's.
fn memory(flows: usize) -> usize {
    96 * 1024 + 256 * flows.saturating_sub(256)
}

/// Kernels started so far by this process.
static STARTED: AtomicU32 = AtomicU32::new(0);

impl Running {
    /// Starts a kernel with a card for each host and memory for the flows.
    pub fn start(kernel: &Kernel, load: Load, seed: u64) -> Result<(Running, Sockets), Error> {
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let folder = Folder::new(&std::env::temp_dir(), number)?;
        Running::start_in(folder, kernel, load, seed, SharedProcessor::take(number as usize))
    }

    fn start_in(
        holder: Folder,
        kernel: &Kernel,
        Load { hosts, flows }: Load,
        seed: u64,
        processor: SharedProcessor,
    ) -> Result<(Running, Sockets), Error> {
        let folder = &holder.path;
        symlink(kernel.folder.join(INITRAMFS), folder.join(INITRAMFS))?;
        let clock = UnixListener::bind(folder.join("clock"))?;
        let cards: Result<_, _> =
            (0..hosts).map(|host| UnixListener::bind(folder.join(format!("c{host}")))).collect();
        let mut command = Command::new(kernel.folder.join(LINUX));
        // Names are relative: the command line goes into the kernel's random numbers.
        command.current_dir(folder).args([
            &format!("mem={}K", memory(flows)),
            "time-travel=ext:clock",
            &format!("initrd={INITRAMFS}"),
            "rdinit=/init",
            "uml_dir=.",
            "umid=uml",
            "con=null",
            "con0=null,fd:1",
            "ssl=null",
            "norandmaps",
            "random.trust_cpu=off",
            "panic=-1",
            "loglevel=4",
            &format!("hosts={hosts}"),
        ]);
        command.args((0..hosts).map(|host| format!("virtio_uml.device=c{host}:1")));
        command.env_clear().env("TMPDIR", "/dev/shm").env("PATH", "/usr/bin:/bin");
        // Linux does some work for a thread with restartable sequences at each of its turns. The kernel uses none.
        command.env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
        command.env("ROAMLAB_SEED", seed.to_string()).env("LD_PRELOAD", kernel.folder.join(SHIM));
        // A separate process group: an interrupt from the terminal goes to the simulator, which then ends the kernel.
        let console = File::options().read(true).append(true).create(true).open(folder.join("console"))?;
        command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(console.try_clone()?)
            .stderr(console.try_clone()?);
        let child = command.spawn()?;
        let running = Running { child, _processor: processor, folder: Some(holder), console };
        Ok((running, Sockets { clock, cards: cards? }))
    }

    /// How the process has ended; none if it runs.
    pub fn ended(&mut self) -> Option<String> {
        self.child.try_wait().ok().flatten().map(|status| format!("it has ended ({status})"))
    }

    /// An error with how the kernel has ended, if it has, and with its last output.
    pub fn report(&mut self, error: io::Error) -> Error {
        let is_gone =
            [io::ErrorKind::UnexpectedEof, io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset];
        let waits = if is_gone.contains(&error.kind()) { 50 } else { 0 };
        let ended = (0..=waits).find_map(|wait| {
            std::thread::sleep(Duration::from_millis(10 * u64::from(wait > 0)));
            self.ended()
        });
        Error::Ended(ended.unwrap_or_else(|| error.to_string()), self.last_words())
    }

    /// Last output of the kernel: of use if it has ended.
    fn last_words(&self) -> String {
        let mut said = Vec::new();
        let _ = (&self.console).rewind().and_then(|()| (&self.console).read_to_end(&mut said));
        let text = String::from_utf8_lossy(&said);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        if lines.is_empty() {
            return "its console is empty".into();
        }
        lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
    }

    /// The kernel is up: its folder is not needed any more.
    pub fn is_up(&mut self) {
        self.folder = None;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(group) = Pid::from_raw(self.child.id() as i32) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
        self.is_up();
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a kernel that is a file of the test")]
pub mod tests {
    use super::*;

    /// A kernel that is a program of the shell.
    pub fn fake(program: &str) -> (impl Drop, Kernel) {
        use std::os::unix::fs::PermissionsExt;
        let place = Folder::new(&std::env::temp_dir(), STARTED.fetch_add(1, Ordering::Relaxed)).unwrap();
        let folder = place.path.join("built");
        std::fs::create_dir(&folder).unwrap();
        for file in [INITRAMFS, SHIM, LINUX] {
            std::fs::write(folder.join(file), "").unwrap();
        }
        std::fs::remove_file(folder.join(SHIM)).unwrap();
        std::fs::write(folder.join(LINUX), format!("#!/bin/sh\n{program}\n")).unwrap();
        std::fs::set_permissions(folder.join(LINUX), PermissionsExt::from_mode(0o755)).unwrap();
        (place, Kernel { folder })
    }

    #[test]
    fn folders_of_killed_processes_are_deleted_and_those_in_use_stay() {
        let place = Folder::new(&std::env::temp_dir(), STARTED.fetch_add(1, Ordering::Relaxed)).unwrap();
        let own = format!("{FOLDERS}{}-7-0", std::process::id());
        let left = place.path.join(&own);
        std::fs::create_dir(&left).unwrap();
        std::fs::write(left.join("console"), "").unwrap();
        let outside = place.path.join("outside");
        std::fs::create_dir(&outside).unwrap();
        symlink(&outside, place.path.join(format!("{FOLDERS}link"))).unwrap();
        let used = Folder::new(&place.path, 8).unwrap();
        assert!(!left.exists() && used.path.exists() && outside.exists());
        // One of this process's number that cannot be deleted is passed over.
        std::fs::create_dir(&left).unwrap();
        let _held = Folder::lock(&left).unwrap();
        let other = Folder::new(&place.path, 7).unwrap();
        assert!(left.exists() && other.path != left && used.path.exists());
    }
}
