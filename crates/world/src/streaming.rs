//! The long tables of a run: their rows become columns during the run, and are streamed if a consumer takes them.

use crate::conduct::Conduct;
use crate::long_table::{Columns, LongTable};
use crate::piece::Piece;
use crate::table::Table;
use crate::world::World;

impl World {
    /// Moves what has been recorded since the last time to columns, and streams long ones to the consumer, if there is one.
    pub(crate) fn stream_record(&mut self, conduct: &Conduct<'_>) {
        let cx = &mut self.planes.cx;
        for (name, table) in cx.probes.long() {
            table.move_to_columns(&self.names, &|column| conduct.wants_column(name, column));
        }
        let Some(stream) = conduct.stream else { return };
        let is_long = cx.probes.tcp.rows_in_columns() >= stream.rows;
        let undecided = if is_long { self.flows.judge_timeouts(cx, &self.names) } else { None };
        for (name, table) in cx.probes.long() {
            let rows = match undecided {
                Some(row) if name == "tcp" => row - table.rows_streamed(),
                _ => table.rows_in_columns(),
            };
            if rows >= stream.rows && conduct.wants(name) {
                let wants = |column: &str| conduct.wants_column(name, column);
                table
                    .stream(rows, &self.names, &wants, &mut |columns| (stream.take)(Piece { name, columns }));
            }
        }
    }

    /// The long tables at the end of the run. Those of which a piece is streamed are streamed to their end.
    pub(crate) fn long_tables(&mut self, conduct: &Conduct<'_>) -> Vec<Table> {
        let mut whole = Vec::new();
        for (name, table) in self.planes.cx.probes.long() {
            let (rows, wants) = (table.rows_in_columns(), |column: &str| conduct.wants_column(name, column));
            match conduct.stream.filter(|_| table.rows_streamed() > 0) {
                Some(stream) => {
                    let take = &mut |columns: Columns<'_>| (stream.take)(Piece { name, columns });
                    table.stream(rows, &self.names, &wants, take);
                }
                None => whole.push(Table { name, columns: table.take_columns(&self.names, &wants) }),
            }
        }
        whole
    }
}
