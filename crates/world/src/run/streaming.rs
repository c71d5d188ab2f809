//! The long tables of a run: their rows become columns during the run, and are streamed if a consumer takes them.

use crate::run::options::RunOptions;
use crate::run::world::World;
use roamlab_record::Piece;
use roamlab_record::Table;
use roamlab_record::{Columns, LongTable};

impl World {
    /// Moves what has been recorded since the last time to columns, and streams long ones to the consumer, if there is one.
    pub(crate) fn stream_record(&mut self, options: &RunOptions<'_>) {
        let (cx, selection) = (&mut self.planes.cx, options.selection());
        for (name, table) in cx.probes.long() {
            table.move_to_columns(&self.names, &|column| selection.wants_column(name, column));
        }
        let Some(stream) = options.stream else { return };
        let is_long = cx.probes.tcp.rows_in_columns() >= stream.rows;
        let undecided = if is_long { self.flows.judge_timeouts(cx, &self.names) } else { None };
        for (name, table) in cx.probes.long() {
            let rows = match undecided {
                Some(row) if name == "tcp" => row - table.rows_streamed(),
                _ => table.rows_in_columns(),
            };
            if rows >= stream.rows && selection.wants(name) {
                let wants = |column: &str| selection.wants_column(name, column);
                table
                    .stream(rows, &self.names, &wants, &mut |columns| (stream.take)(Piece { name, columns }));
            }
        }
    }

    /// The long tables at the end of the run. Those of which a piece is streamed are streamed to their end.
    pub(crate) fn long_tables(&mut self, options: &RunOptions<'_>) -> Vec<Table> {
        let (mut whole, selection) = (Vec::new(), options.selection());
        for (name, table) in self.planes.cx.probes.long() {
            let (rows, wants) =
                (table.rows_in_columns(), |column: &str| selection.wants_column(name, column));
            match options.stream.filter(|_| table.rows_streamed() > 0) {
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
