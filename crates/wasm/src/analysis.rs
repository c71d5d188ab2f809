//! The analysis of the record of a run. Answers are JSON.

use crate::{Checked, Tables};
use roamlab_analysis::{Fault, Record, Stall, Table};
use serde_json::{Value, json};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
impl Tables {
    /// The stalls and slow periods of the run with their causes, its headline, and the figures of its flows. The run was of
    /// this scenario, with this seed and number, and ended at `duration_ns`. Throws the column that the record lacks.
    pub fn explain(
        &self,
        checked: &Checked,
        seed: u64,
        run: u64,
        duration_ns: f64,
    ) -> Result<String, JsError> {
        let network: Value = serde_json::from_str(&checked.expanded(seed, run))?;
        self.ask(checked, duration_ns, |record| {
            let troubles = record.troubles(None)?;
            let (headline, figures) = (record.headline(&troubles)?, record.figures()?);
            Ok(json!({ "headline": headline, "figures": figures, "told": record.explain(&network, troubles)? }))
        })
    }

    /// The stalls and slow periods of a flow.
    pub fn troubles(&self, checked: &Checked, duration_ns: f64, flow: &str) -> Result<String, JsError> {
        self.ask(checked, duration_ns, |record| Ok(json!(record.troubles(Some(flow))?)))
    }

    /// The RTO in ns at each retransmission timeout in a stall, or shortly before it.
    #[wasm_bindgen(js_name = timeoutRtos)]
    pub fn timeout_rtos(&self, checked: &Checked, duration_ns: f64, stall: &str) -> Result<String, JsError> {
        let stall: Stall = serde_json::from_str(stall)?;
        self.ask(checked, duration_ns, |record| Ok(json!(record.timeout_rtos(&stall)?)))
    }
}

impl Tables {
    fn ask(
        &self,
        checked: &Checked,
        duration_ns: f64,
        question: impl FnOnce(&Record<'_>) -> Result<Value, Fault>,
    ) -> Result<String, JsError> {
        let scenario: Value = serde_json::from_str(&checked.json())?;
        let tables = self.tables.iter().map(Table::from).collect();
        let record = Record::new(tables, &self.index, &scenario, duration_ns as i64);
        Ok(question(&record).map(|answer| answer.to_string())?)
    }
}

/// Lists that the page shares with the analyses, as JSON.
#[wasm_bindgen]
pub fn constants() -> String {
    roamlab_analysis::constants().to_string()
}
