//! The kernel's process. Until it is up, a folder holds its sockets. It ends with this process.

use crate::error::Error;
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

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
    folder: Option<PathBuf>,
    console: File,
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

/// The kernel's memory in KiB. A flow has two threads and two sockets inside: 2,000 flows that began at once took 110 KiB each,
/// and a kernel without memory ends itself. What it does not use takes none of the machine's.
fn memory(flows: usize) -> usize {
    96 * 1024 + 256 * flows.saturating_sub(256)
}

/// Kernels started so far by this process.
static STARTED: AtomicU32 = AtomicU32::new(0);

impl Running {
    /// Starts a kernel with a card for each host and memory for the flows.
    pub fn start(kernel: &Kernel, load: Load, seed: u64) -> Result<(Running, Sockets), Error> {
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("roamlab-{}-{number}", std::process::id()));
        std::fs::create_dir(&folder)?;
        let processor = SharedProcessor::take(number as usize);
        let made = Running::start_in(&folder, kernel, load, seed, processor);
        if made.is_err() {
            let _ = std::fs::remove_dir_all(&folder);
        }
        made
    }

    fn start_in(
        folder: &Path,
        kernel: &Kernel,
        Load { hosts, flows }: Load,
        seed: u64,
        processor: SharedProcessor,
    ) -> Result<(Running, Sockets), Error> {
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
        let running = Running { child, _processor: processor, folder: Some(folder.to_owned()), console };
        Ok((running, Sockets { clock, cards: cards? }))
    }

    /// What the kernel has said last: of use if it has ended.
    pub fn last_words(&self) -> String {
        let mut said = Vec::new();
        let _ = (&self.console).rewind().and_then(|()| (&self.console).read_to_end(&mut said));
        let text = String::from_utf8_lossy(&said);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
    }

    /// The kernel is up: its folder is not needed any more.
    pub fn is_up(&mut self) {
        if let Some(folder) = self.folder.take() {
            let _ = std::fs::remove_dir_all(folder);
        }
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
