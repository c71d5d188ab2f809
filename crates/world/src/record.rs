//! The long tables of a run: their rows become columns during the run, and leave if a consumer takes them.

use crate::conduct::Conduct;
use crate::long::{Columns, Long};
use crate::piece::Piece;
use crate::table::Table;
use crate::world::World;

impl World {
    /// Settles what has been recorded since the last time, and lets go what somebody takes.
    pub(crate) fn settle_record(&mut self, conduct: &Conduct<'_>) {
        let cx = &mut self.planes.cx;
        for (name, table) in cx.probes.long() {
            table.settle(&self.names, &|column| conduct.wants_column(name, column));
        }
        let Some(stream) = conduct.stream else { return };
        let is_long = cx.probes.tcp.settled() >= stream.rows;
        let undecided = if is_long { self.flows.judge_timeouts(cx, &self.names) } else { None };
        for (name, table) in cx.probes.long() {
            let rows = match undecided {
                Some(row) if name == "tcp" => row - table.gone(),
                _ => table.settled(),
            };
            if rows >= stream.rows && conduct.wants(name) {
                let wants = |column: &str| conduct.wants_column(name, column);
                table.leave(rows, &self.names, &wants, &mut |columns| (stream.take)(Piece { name, columns }));
            }
        }
    }

    /// The long tables at the end of the run, all of whose rows are settled. Those of which a piece has left leave.
    pub(crate) fn long_tables(&mut self, conduct: &Conduct<'_>) -> Vec<Table> {
        let mut whole = Vec::new();
        for (name, table) in self.planes.cx.probes.long() {
            let (rows, wants) = (table.settled(), |column: &str| conduct.wants_column(name, column));
            match conduct.stream.filter(|_| table.gone() > 0) {
                Some(stream) => {
                    let take = &mut |columns: Columns<'_>| (stream.take)(Piece { name, columns });
                    table.leave(rows, &self.names, &wants, take);
                }
                None => whole.push(Table { name, columns: table.columns(&self.names, &wants) }),
            }
        }
        whole
    }
}
