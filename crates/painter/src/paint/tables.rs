//! The tables of shapes and words, and the names in them.

use serde::{
    Deserialize,
    de::{IntoDeserializer, value::Error},
};

/// A part of the scenery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Sight {
    Autumn,
    Spring,
    Summer,
    Snow,
    Desert,
    Beach,
    Field,
    Forest,
    Hills,
    Mountains,
    Lake,
    Sea,
    City,
    Neon,
    Space,
    Studio,
    Rain,
    Storm,
    Snowfall,
    Fog,
    Clouds,
    Sky,
    Sun,
    Moon,
    Stars,
    Aurora,
    Rainbow,
    Fireworks,
    /// A large face in front of a background out of focus.
    Portrait,
    /// A table that things stand on.
    Table,
    /// A room with a wall and a floor.
    Room,
    /// A logo, an icon or a sticker.
    Badge,
    /// Abstract forms, or many of a thing.
    Pattern,
    /// Bands of colour that flow around each other.
    Swirls,
}

/// A word that relates others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Grammar {
    /// The next noun is not shown.
    Not,
    /// What comes before sits, lies or rides on the next noun.
    On,
    /// What comes before is inside the next noun.
    In,
    /// What comes before is next to the next noun.
    Beside,
    /// What comes before leads over the next noun.
    Crossing,
    /// What comes before has the next noun in its hand.
    Holding,
    /// What comes before may hold the next noun.
    Of,
    /// Ends a noun with its adjectives.
    Break,
    /// Begins a noun with its adjectives.
    Article,
    /// Says nothing about what a painting shows.
    Vague,
}

/// The languages of the tables, in the order of their columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    English,
    German,
    Spanish,
    Japanese,
}

pub(super) const LANGUAGES: [Language; 4] =
    [Language::English, Language::German, Language::Spanish, Language::Japanese];

/// The rows of a table below its head. Missing columns are empty.
pub(super) fn rows<const N: usize>(table: &'static str) -> impl Iterator<Item = [&'static str; N]> {
    table.lines().skip(1).map(|line| {
        let mut columns = line.split('\t');
        [(); N].map(|()| columns.next().unwrap_or_default())
    })
}

/// The variant of this name.
pub(super) fn named<'a, T: Deserialize<'a>>(name: &'a str) -> Option<T> {
    T::deserialize(IntoDeserializer::<Error>::into_deserializer(name)).ok()
}
