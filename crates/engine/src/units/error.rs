//! Errors of texts of quantities.

/// Why a text is not a quantity.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UnitError {
    /// The number has no unit behind it.
    #[error("\"{text}\" has no unit; write for example \"{example}\"")]
    MissingUnit {
        /// The text that was written.
        text: String,
        /// Possible texts.
        example: String,
    },
    /// The unit is not one of this quantity.
    #[error("\"{unit}\" is not a unit of {quantity}; {instead}")]
    UnknownUnit {
        /// Text behind the number.
        unit: String,
        /// "a time", "a rate", …
        quantity: &'static str,
        /// The text to write instead.
        instead: String,
    },
    /// The number is written with an exponent.
    #[error(
        "\"{text}\" has an exponent; write all digits, with a unit that keeps them few, for example \"{example}\""
    )]
    Exponent {
        /// The text that was written.
        text: String,
        /// Possible texts.
        example: &'static str,
    },
    /// The number is written as a country or a clock has it: "4,5 Mbit/s", "1 000 B", "00:00:20".
    #[error("\"{text}\" is not {quantity}; write {instead}")]
    Spelled {
        /// The text that was written.
        text: String,
        /// "a time", "a rate", …
        quantity: &'static str,
        /// The text to write instead.
        instead: String,
    },
    /// No number, a sign, or too many digits.
    #[error(
        "\"{text}\" is not {quantity}; write a non-negative number with a unit, for example \"{example}\""
    )]
    NotANumber {
        /// The text that was written.
        text: String,
        /// "a time", "a rate", …
        quantity: &'static str,
        /// Possible texts.
        example: &'static str,
    },
    /// The value is not a whole number of base units.
    #[error("\"{text}\" is not a whole number of {base}; round it to one")]
    Lossy {
        /// The text that was written.
        text: String,
        /// The base unit.
        base: &'static str,
    },
    /// The value is zero where that has no meaning.
    #[error("\"{text}\" is out of range: {quantity} is larger than 0")]
    Zero {
        /// The text that was written.
        text: String,
        /// "a rate".
        quantity: &'static str,
    },
    /// The value does not fit.
    #[error("\"{text}\" is out of range for {quantity}")]
    OutOfRange {
        /// The text that was written.
        text: String,
        /// "a time", "a rate", …
        quantity: &'static str,
    },
}
