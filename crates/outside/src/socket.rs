//! Unix sockets that pass files.

use crate::error::Error;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Most files that come with one message: regions of memory (vhost-user: eight).
const MOST_FILES: usize = 8;

/// A kernel without a message for this time is broken: no instant of it takes seconds.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// After this wait it is asked whether to continue.
const STEP: Duration = Duration::from_millis(100);

/// Sends bytes, in one message, with files.
///
/// # Errors
/// Those of the system.
pub fn send_with_files(socket: &UnixStream, bytes: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(files));
    let sent = sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::empty())?;
    if sent == bytes.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// Takes what has come, as far as there is room in `bytes`, and the files that come with it. How many bytes, one at least.
pub fn receive_some(socket: &UnixStream, bytes: &mut [u8], files: &mut Vec<OwnedFd>) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let message = recvmsg(socket, &mut [IoSliceMut::new(bytes)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    for part in control.drain() {
        if let RecvAncillaryMessage::ScmRights(passed) = part {
            files.extend(passed);
        }
    }
    if message.bytes == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(message.bytes) }
}

/// Waits until one of these can be read; which can. While none can, `go_on` is asked now and then: its error ends the wait.
pub fn wait(
    sockets: &[BorrowedFd<'_>],
    go_on: &mut dyn FnMut() -> Result<(), Error>,
) -> Result<Vec<bool>, Error> {
    let mut polled: Vec<PollFd<'_>> =
        sockets.iter().map(|socket| PollFd::from_borrowed_fd(*socket, PollFlags::IN)).collect();
    let step = STEP.try_into().map_err(io::Error::other)?;
    let mut waited = Duration::ZERO;
    while waited < PATIENCE {
        match poll(&mut polled, Some(&step)) {
            Err(rustix::io::Errno::INTR) => go_on()?,
            Ok(0) => {
                waited += STEP;
                go_on()?;
            }
            done => {
                done?;
                return Ok(polled.iter().map(|one| !one.revents().is_empty()).collect());
            }
        }
    }
    Err(io::Error::other(format!("it has sent nothing for {} s", PATIENCE.as_secs())).into())
}
