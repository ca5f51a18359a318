//! The words of a prompt that change its painting, and what each one does.

use super::{
    palette::Time,
    shapes::{self, Shape},
};

/// What a word does.
#[derive(Clone, Copy)]
pub(super) enum Meaning {
    /// Sets the time of day.
    At(Time),
    /// Adds something to the scenery.
    Scenery(Sight),
    /// Shows a shape.
    Shows(&'static Shape),
    /// Shows a shape in a colour of its own, unless the prompt names another.
    Dyed(&'static Shape, u32),
    /// Colours what follows.
    Colour(u32),
    /// Says how many of what follows.
    Count(usize),
}

/// A part of the scenery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
}

use Meaning::{At, Colour, Count, Dyed, Scenery, Shows};
use Sight::*;
use Time::*;

/// Each word in its singular.
pub(super) static WORDS: &[(&str, Meaning)] = &[
    // Times of day.
    ("dawn", At(Dawn)),
    ("sunrise", At(Dawn)),
    ("morning", At(Dawn)),
    ("day", At(Day)),
    ("daylight", At(Day)),
    ("noon", At(Day)),
    ("afternoon", At(Day)),
    ("sunny", At(Day)),
    ("sunset", At(Sunset)),
    ("dusk", At(Sunset)),
    ("evening", At(Sunset)),
    ("twilight", At(Sunset)),
    ("night", At(Night)),
    ("midnight", At(Night)),
    ("nocturnal", At(Night)),
    ("dark", At(Night)),
    // Seasons.
    ("spring", Scenery(Spring)),
    ("blossom", Scenery(Spring)),
    ("summer", Scenery(Summer)),
    ("autumn", Scenery(Autumn)),
    ("fall", Scenery(Autumn)),
    ("winter", Scenery(Snow)),
    ("snow", Scenery(Snow)),
    ("snowy", Scenery(Snow)),
    ("ice", Scenery(Snow)),
    ("icy", Scenery(Snow)),
    ("frozen", Scenery(Snow)),
    ("arctic", Scenery(Snow)),
    // Ground.
    ("desert", Scenery(Desert)),
    ("dune", Scenery(Desert)),
    ("sahara", Scenery(Desert)),
    ("beach", Scenery(Beach)),
    ("shore", Scenery(Beach)),
    ("island", Scenery(Beach)),
    ("sand", Scenery(Beach)),
    ("field", Scenery(Field)),
    ("meadow", Scenery(Field)),
    ("garden", Scenery(Field)),
    ("grass", Scenery(Field)),
    ("park", Scenery(Field)),
    ("forest", Scenery(Forest)),
    ("wood", Scenery(Forest)),
    ("jungle", Scenery(Forest)),
    ("hill", Scenery(Hills)),
    ("valley", Scenery(Hills)),
    ("landscape", Scenery(Hills)),
    ("mountain", Scenery(Mountains)),
    ("peak", Scenery(Mountains)),
    ("alp", Scenery(Mountains)),
    ("cliff", Scenery(Mountains)),
    ("lake", Scenery(Lake)),
    ("pond", Scenery(Lake)),
    ("river", Scenery(Lake)),
    ("water", Scenery(Lake)),
    ("sea", Scenery(Sea)),
    ("ocean", Scenery(Sea)),
    ("wave", Scenery(Sea)),
    ("coast", Scenery(Sea)),
    ("city", Scenery(City)),
    ("town", Scenery(City)),
    ("street", Scenery(City)),
    ("skyline", Scenery(City)),
    ("skyscraper", Scenery(City)),
    ("urban", Scenery(City)),
    ("neon", Scenery(Neon)),
    ("cyberpunk", Scenery(Neon)),
    ("space", Scenery(Space)),
    ("galaxy", Scenery(Space)),
    ("planet", Scenery(Space)),
    ("cosmos", Scenery(Space)),
    ("studio", Scenery(Studio)),
    ("background", Scenery(Studio)),
    ("backdrop", Scenery(Studio)),
    // Weather and sky.
    ("rain", Scenery(Rain)),
    ("rainy", Scenery(Rain)),
    ("storm", Scenery(Storm)),
    ("thunder", Scenery(Storm)),
    ("lightning", Scenery(Storm)),
    ("snowfall", Scenery(Snowfall)),
    ("snowing", Scenery(Snowfall)),
    ("blizzard", Scenery(Snowfall)),
    ("fog", Scenery(Fog)),
    ("foggy", Scenery(Fog)),
    ("mist", Scenery(Fog)),
    ("misty", Scenery(Fog)),
    ("cloud", Scenery(Clouds)),
    ("cloudy", Scenery(Clouds)),
    ("sky", Scenery(Sky)),
    ("sun", Scenery(Sun)),
    ("moon", Scenery(Moon)),
    ("moonlight", Scenery(Moon)),
    ("star", Scenery(Stars)),
    ("starry", Scenery(Stars)),
    ("aurora", Scenery(Aurora)),
    ("rainbow", Scenery(Rainbow)),
    ("firework", Scenery(Fireworks)),
    // Animals.
    ("fox", Shows(&shapes::FOX)),
    ("cat", Shows(&shapes::CAT)),
    ("kitten", Shows(&shapes::CAT)),
    ("tiger", Dyed(&shapes::CAT, 0xd9772b)),
    ("lion", Dyed(&shapes::CAT, 0xc99a4e)),
    ("dog", Shows(&shapes::DOG)),
    ("puppy", Shows(&shapes::DOG)),
    ("wolf", Shows(&shapes::WOLF)),
    ("wolves", Shows(&shapes::WOLF)),
    ("rabbit", Shows(&shapes::RABBIT)),
    ("bunny", Shows(&shapes::RABBIT)),
    ("hare", Shows(&shapes::RABBIT)),
    ("bear", Shows(&shapes::BEAR)),
    ("deer", Shows(&shapes::DEER)),
    ("stag", Shows(&shapes::DEER)),
    ("reindeer", Shows(&shapes::DEER)),
    ("horse", Shows(&shapes::HORSE)),
    ("pony", Shows(&shapes::HORSE)),
    ("owl", Shows(&shapes::OWL)),
    ("bird", Shows(&shapes::BIRD)),
    ("seagull", Dyed(&shapes::BIRD, 0xf2f4f6)),
    ("eagle", Dyed(&shapes::BIRD, 0x5a4030)),
    ("butterfly", Shows(&shapes::BUTTERFLY)),
    ("fish", Shows(&shapes::FISH)),
    ("whale", Shows(&shapes::WHALE)),
    // People, and what they wear.
    ("portrait", Scenery(Portrait)),
    ("closeup", Scenery(Portrait)),
    ("face", Shows(&shapes::WOMAN)),
    ("woman", Shows(&shapes::WOMAN)),
    ("girl", Shows(&shapes::WOMAN)),
    ("man", Shows(&shapes::MAN)),
    ("boy", Shows(&shapes::MAN)),
    ("person", Shows(&shapes::PERSON)),
    ("people", Shows(&shapes::PERSON)),
    ("wanderer", Shows(&shapes::PERSON)),
    ("child", Shows(&shapes::PERSON)),
    ("hat", Shows(&shapes::HAT)),
    ("shirt", Shows(&shapes::SHIRT)),
    ("jacket", Shows(&shapes::SHIRT)),
    ("sweater", Shows(&shapes::SHIRT)),
    ("dress", Shows(&shapes::DRESS)),
    // Plants.
    ("flower", Shows(&shapes::FLOWER)),
    ("rose", Dyed(&shapes::FLOWER, 0xc9283e)),
    ("tulip", Dyed(&shapes::FLOWER, 0xf0567a)),
    ("daisy", Dyed(&shapes::FLOWER, 0xfaf7f0)),
    ("sunflower", Dyed(&shapes::FLOWER, 0xf2b632)),
    ("tree", Shows(&shapes::TREE)),
    ("oak", Shows(&shapes::TREE)),
    ("palm", Shows(&shapes::PALM)),
    ("cactus", Shows(&shapes::CACTUS)),
    ("mushroom", Shows(&shapes::MUSHROOM)),
    // Buildings.
    ("house", Shows(&shapes::HOUSE)),
    ("cottage", Shows(&shapes::HOUSE)),
    ("cabin", Dyed(&shapes::HOUSE, 0x8a5a3a)),
    ("castle", Shows(&shapes::CASTLE)),
    ("palace", Shows(&shapes::CASTLE)),
    ("tower", Shows(&shapes::LIGHTHOUSE)),
    ("lighthouse", Shows(&shapes::LIGHTHOUSE)),
    ("windmill", Shows(&shapes::WINDMILL)),
    // Vehicles and things.
    ("boat", Shows(&shapes::BOAT)),
    ("ship", Shows(&shapes::BOAT)),
    ("sailboat", Shows(&shapes::BOAT)),
    ("yacht", Shows(&shapes::BOAT)),
    ("balloon", Shows(&shapes::BALLOON)),
    ("car", Shows(&shapes::CAR)),
    ("taxi", Dyed(&shapes::CAR, 0xf2c130)),
    ("bicycle", Shows(&shapes::BICYCLE)),
    ("bike", Shows(&shapes::BICYCLE)),
    ("rocket", Shows(&shapes::ROCKET)),
    ("spaceship", Shows(&shapes::ROCKET)),
    ("robot", Shows(&shapes::ROBOT)),
    ("cup", Shows(&shapes::CUP)),
    ("mug", Shows(&shapes::CUP)),
    ("coffee", Shows(&shapes::CUP)),
    ("tea", Shows(&shapes::CUP)),
    ("lantern", Shows(&shapes::LANTERN)),
    ("lamp", Shows(&shapes::LANTERN)),
    // Colours.
    ("red", Colour(0xcf3a2b)),
    ("crimson", Colour(0xa81c33)),
    ("orange", Colour(0xe8832a)),
    ("yellow", Colour(0xf2c83a)),
    ("golden", Colour(0xe0a93a)),
    ("gold", Colour(0xe0a93a)),
    ("green", Colour(0x3f9a4f)),
    ("turquoise", Colour(0x35b5ac)),
    ("teal", Colour(0x1f7f86)),
    ("blue", Colour(0x2f6fc4)),
    ("purple", Colour(0x7a45a8)),
    ("violet", Colour(0x7a45a8)),
    ("pink", Colour(0xf08ab0)),
    ("brown", Colour(0x7a4e30)),
    ("black", Colour(0x26242a)),
    ("grey", Colour(0x8b8e96)),
    ("gray", Colour(0x8b8e96)),
    ("silver", Colour(0xb9bfc9)),
    ("white", Colour(0xf6f4f0)),
    // Numbers.
    ("two", Count(2)),
    ("couple", Count(2)),
    ("three", Count(3)),
    ("four", Count(4)),
    ("five", Count(5)),
    ("many", Count(5)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_occurs_once_and_is_documented() {
        let page = imagekiln_testbed::page("docs/simulator.md");
        let table = page.split("| in the prompt | words |\n").nth(1).unwrap();
        let rows = table.lines().skip(1).map_while(|row| row.strip_prefix("| "));
        let listed: Vec<_> = rows
            .flat_map(|row| row.split('|').nth(1).unwrap_or_default().split(','))
            .map(str::trim)
            .collect();
        let words: Vec<_> = WORDS.iter().map(|(word, _)| *word).collect();
        assert_eq!(listed, words);
        for (index, word) in words.iter().enumerate() {
            assert!(!words[..index].contains(word), "{word} occurs twice");
        }
    }
}
