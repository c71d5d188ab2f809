"""The mechanism behind each claim under the default; reruns without a cause are on the page and in `explanations`."""

from __future__ import annotations

WHY = {
    "fig3.high": "With biCast the timer expires a second time in one handover of three. With layer 3 at once it does "
    "not, and noBuffer and biCast differ by 0.003 at most. A source trigger fills the buffer from 100 "
    "ms before the break on, so it holds what was lost, and Buffer is as good as noBuffer within 0.01. "
    "With a no-path trigger and a buffer that drops the newest, candidates keep what the host has had, "
    "and Buffer is the worst.",
    "fig4.flat": "The timer expires once a handover with Buffer and with noBuffer, and 1.36 times with biCast, "
    "whether the gap is 300 or 500 ms. No rerun isolates the cause.",
    "fig4.low": "With Buffer the lost part of the window comes from the candidate. Without it the timer expires "
    "once a handover for Reno, NewReno and SACK. Tahoe sends everything again after a fast retransmit "
    "and waits for its timer less often.",
    "fig3.low": "Without a buffer Reno, NewReno and SACK wait for a timeout at each handover; with one they do not. "
    "Tahoe, which waits less often, differs by half as much.",
    "dip": "At 100 ms a part of the window arrives after the gap and starts a fast retransmit, whose "
    "acknowledgement starts the timer anew. Where the outage takes the whole window (layer 3 200 ms "
    "later), or the timer outlasts each gap (RTO floor 1 s), there is no dip.",
    "fig5.order": "What a buffer holds the host has had, and a burst of such duplicates looks like a loss. If layer 2 "
    "drops second copies, no window is cut, and Buffer is behind noBuffer by 0.019 instead of 0.037. No rerun isolates "
    "the rest.",
    "fig5.rise": "The fall beyond 300 ms comes from second copies that reach TCP: if layer 2 drops them, it is -0.0005 "
    "(-0.0013 … 0.0004) instead of -0.006. Of the rise of 0.060 layer 3's delay is a part: with layer 3 at once it is "
    "0.043. No rerun isolates the rest. The timer, which expires up to once a handover at 0 ms, hardly expires in an "
    "overlap.",
    "reno": "Averaged over the overlaps Reno is above NewReno with each mechanism, so it is not the last. With Buffer "
    "second copies start 3.2 fast retransmits a handover with Reno, and 2.4 with NewReno. If layer 2 drops them, "
    "there is none, and Tahoe, Reno and NewReno have the same throughput.",
    "tahoe": "Few timers expire in a soft handover. Tahoe is above Reno with Buffer and below it with noBuffer and "
    "biCast, and the means over the mechanisms are alike.",
    "fewer": "In overlaps the timer expires 0.05 times a handover at most, but 0.2 times with Reno and biCast at "
    "100 ms. At gaps it expires 0.3 to 1.4 times, and almost never with Buffer at 100 ms. No rerun isolates the cause.",
    "proactive": "After a long gap noBuffer gains by layer 3's delay: with layer 3 at once it is as good as biCast. "
    "At a short one Buffer spares the timeout.",
    "overlap": "A buffer is filled with what the host has from its old cell, whether the overlap is short or long, "
    "so Buffer is behind in both. With lead 0 nothing is kept before the host comes: up to 300 ms Buffer is behind by "
    "0.006 instead of 0.054.",
}
