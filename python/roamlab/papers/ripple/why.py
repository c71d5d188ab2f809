"""The mechanism behind each claim under the default; reruns without a cause are on the page and in `explanations`."""

from __future__ import annotations

WHY = {
    "fig3.high": "With biCast the timer expires a second time in one handover of three. With layer 3 at once it does "
    "not, and noBuffer and biCast differ by 0.003 at most. A source trigger fills the buffer from 100 "
    "ms before the break on, so it holds what was lost, and Buffer is as good as noBuffer within 0.01. "
    "With a no-path trigger and a buffer that drops the newest, candidates keep what the host has had, "
    "and Buffer is the worst.",
    "fig4.flat": "A gap of 300 ms and more takes the whole window. The timer expires once a handover with Buffer and "
    "with noBuffer, 1.35 times with biCast, and none of these numbers changes with the delay.",
    "fig4.low": "With Buffer the lost part of the window comes from the candidate. Without it the timer expires "
    "once a handover for Reno, NewReno and SACK. Tahoe sends everything again after a fast retransmit "
    "and waits for its timer less often.",
    "fig3.low": "Without a buffer Reno, NewReno and SACK wait for a timeout at each handover; with one they do not. "
    "Tahoe, which waits less often, differs by half as much.",
    "dip": "At 100 ms a part of the window arrives after the gap and starts a fast retransmit, whose "
    "acknowledgement starts the timer anew. Where the outage takes the whole window (layer 3 200 ms "
    "later), or the timer outlasts each gap (RTO floor 1 s), there is no dip.",
    "fig5.order": "With an overlap nothing is lost, so a buffer has nothing to save. What it holds the host has had, "
    "and a burst of such duplicates looks like a loss. If layer 2 drops second copies, no window is "
    "cut.",
    "fig5.rise": "An overlap spares the loss that a handover without one has. A longer one brings more copies, which "
    "take air.",
    "reno": "Without a buffer Reno loses no packet in an overlap and is as good as the others. With Buffer late "
    "copies cut its window three times a handover, and NewReno's more than twice.",
    "tahoe": "Few timers expire in a soft handover. Tahoe loses less than Reno with Buffer and more without it, "
    "and the means over the mechanisms are alike.",
    "fewer": "An overlap loses nothing; a gap loses a part of the window or all of it.",
    "proactive": "After a long gap noBuffer gains by layer 3's delay: with layer 3 at once it is as good as biCast. "
    "At a short one Buffer spares the timeout.",
    "overlap": "A buffer is filled with what the host has from its old cell, whether the overlap is short or long, "
    "so Buffer is behind in both.",
}
