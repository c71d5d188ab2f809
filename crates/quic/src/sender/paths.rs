//! New paths of a sender: it validates the other end's new address (RFC 9000 §8.2, §9), takes its own
//! one, and follows the policy of a notice.

use super::{Handshake, QuicSender};
use crate::params::Migration;
use crate::path::Validation;
use crate::recovery::careful_resume::{CarefulResume, Saved};
use crate::recovery::pacer::Pacer;
use crate::wire;
use roamlab_congestion::{NewPath, PathPolicy, SenderEventKind};
use roamlab_engine::{Duration, Time};
use roamlab_packet::QuicHeader;

impl QuicSender {
    /// The other end may have a new address, or prove that it has it (RFC 9000 §8.2, §9.3).
    pub(super) fn look_at_path(&mut self, header: &QuicHeader, now: Time) {
        let Some(migration) = self.spec.migration else { return };
        let bytes = wire::answer_payload(header, self.spec.connection_id);
        let is_latest = self.largest_received.is_none_or(|largest| header.number > largest);
        self.largest_received = self.largest_received.max(Some(header.number));
        if header.path > self.path && is_latest {
            // ASSUMPTION: one that was never validated is not challenged again.
            if self.path == self.validated {
                self.left = Some(self.path);
            }
            self.path = header.path;
            self.validation = Some(Validation::new(bytes, self.validation_timeouts(), now));
            if migration.resets_unvalidated() == Some(true) {
                self.begin_path(migration, now);
            }
            self.set_timer();
        } else if header.path == self.path
            && let Some(validation) = &mut self.validation
        {
            validation.received(bytes);
        }
        if header.path_response
            && header.path == self.path
            && let Some(validation) = self.validation.take()
        {
            let validates_address = validation.is_of_address();
            self.validation = validation.answered(self.validation_timeouts(), now);
            if !validates_address {
                return;
            }
            self.validated = self.path;
            if migration.resets_unvalidated() == Some(false) {
                self.begin_path(migration, now);
            }
            self.set_timer();
        }
    }

    /// The probe timeouts that bound a validation: the present one, and that of a new path (RFC 9000 §8.2.4).
    fn validation_timeouts(&self) -> (Duration, Duration) {
        (self.rtt.pto(), self.rtt.for_new_path().pto())
    }

    /// This end has a new address: the other end knows it from the next packet.
    ///
    /// ASSUMPTION: the other end validates it without effect on the data, because its ACKs are far below the limit.
    pub fn on_path_change(&mut self, now: Time) {
        self.moves += 1;
        self.take_address(now);
    }

    /// Takes the latest address of this end. RFC 9000 §9: not before the handshake is confirmed.
    pub(super) fn take_address(&mut self, now: Time) {
        let Some(migration) = self.spec.migration else { return };
        if self.moves == 0 || matches!(self.handshake, Handshake::Underway { .. }) {
            return;
        }
        self.path += std::mem::take(&mut self.moves);
        if migration != Migration::Keep {
            self.begin_path(migration, now);
        }
    }

    /// The sender is notified that its packets take another path, though no address has changed, and follows the
    /// policy. The number of packets counted as lost; `None`: nothing was done.
    pub fn on_new_path(&mut self, policy: PathPolicy, now: Time) -> Option<u32> {
        if matches!(self.handshake, Handshake::Underway { .. }) || policy == PathPolicy::Nothing {
            return None;
        }
        let lost = if policy == PathPolicy::CountLost { self.sent.in_flight() } else { 0 };
        match Migration::at_notice(policy) {
            Some(migration) => self.renew_path(migration),
            None => {
                self.sent.leave_path(false); // what is in flight measures the old path
                self.rtt.forget_min();
                let probes = policy == PathPolicy::ProbeRtt;
                self.congestion.on_new_path(NewPath { next: self.sent.next_number(), probes });
                self.note_limits();
            }
        }
        self.record(SenderEventKind::PathChange, self.stream.first_outstanding(), now);
        Some(lost)
    }

    /// Window and round-trip times are those of a new path, whose address is another one.
    fn begin_path(&mut self, migration: Migration, now: Time) {
        self.renew_path(migration);
        self.record(SenderEventKind::Migration, self.stream.first_outstanding(), now);
    }

    /// Window and round-trip times are those of a new path.
    fn renew_path(&mut self, migration: Migration) {
        if migration == Migration::CarefulResume {
            self.resume = self.resume_later();
        }
        self.rtt = self.rtt.for_new_path();
        self.congestion = self.congestion.for_new_path(&self.spec);
        self.pacer = Pacer::new(self.spec.burst());
        self.pto_count = 0;
        self.sent.leave_path(migration.frees_old_path());
        if migration.loses_old_path() {
            self.loss_time = None;
            let lost = self.sent.abandon();
            lost.into_iter().for_each(|segment| self.stream.lost(segment));
        }
        self.set_timer();
    }

    /// Careful Resume for the new path, with the saved parameters of the path that is left.
    fn resume_later(&self) -> Option<CarefulResume> {
        let own = Saved { cwnd: self.congestion.capacity(), rtt: self.rtt.min() };
        let saved = match &self.resume {
            Some(resume) => resume.observed(own),
            None => self.rtt.measured().map(|_| own)?,
        };
        Some(CarefulResume::new(saved, self.spec.initial_cwnd()))
    }
}
