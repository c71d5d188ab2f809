//! `roamlab-bindgen MODULE FOLDER`: what `wasm-bindgen --target no-modules` does, for a module of this workspace.

use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(module), Some(folder)) = (words.next(), words.next()) else {
        return Err("two arguments are needed: a module and the folder to write to".into());
    };
    let mut bindgen = Bindgen::new();
    bindgen
        .input_path(module)
        .no_modules(true)?
        .typescript(false)
        .remove_name_section(true)
        .generate(folder)?;
    Ok(())
}
