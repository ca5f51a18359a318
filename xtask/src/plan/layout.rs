//! Arranges the nodes of a graph in layers: each arrow leads down, and few of them cross.

use std::collections::{BTreeMap, BTreeSet};

/// The height of a box.
pub const HEIGHT: f64 = 24.0;

/// The space between layers.
pub const GAP: f64 = 34.0;

/// The space between boxes of a layer.
const SPACE: f64 = 14.0;

/// The width of a character.
const CHARACTER: f64 = 7.5;

/// How often the layers are arranged by those above and below.
const ROUNDS: usize = 24;

type Arrows = BTreeSet<(String, String)>;

/// A box, or the place where a line passes a layer.
pub struct Item {
    /// The name in the box.
    pub name: Option<String>,
    pub layer: usize,
    pub width: f64,
    /// The middle.
    pub x: f64,
    above: Vec<usize>,
    /// The items of the next layer to which lines lead.
    pub below: Vec<usize>,
}

pub struct Layout {
    pub items: Vec<Item>,
    layers: Vec<Vec<usize>>,
    pub width: f64,
}

impl Layout {
    /// Arranges the names. An arrow that follows from others is left out.
    pub fn new(names: &BTreeSet<String>, arrows: &Arrows) -> Self {
        let mut layout = Self { items: Vec::new(), layers: Vec::new(), width: 0.0 };
        let layers = layers(names, arrows);
        let mut indexes = BTreeMap::new();
        for name in names {
            let width = name.chars().count() as f64 * CHARACTER + 14.0;
            indexes.insert(name, layout.add(Some(name.clone()), layers[name], width));
        }
        for (from, to) in arrows.iter().filter(|arrow| !follows(arrow, arrows)) {
            let mut last = indexes[from];
            for layer in layers[from] + 1..layers[to] {
                let next = layout.add(None, layer, 0.0);
                layout.connect(last, next);
                last = next;
            }
            layout.connect(last, indexes[to]);
        }
        layout.arrange();
        layout
    }

    pub fn height(&self) -> f64 {
        self.layers.len() as f64 * (HEIGHT + GAP) - GAP
    }

    fn add(&mut self, name: Option<String>, layer: usize, width: f64) -> usize {
        let index = self.items.len();
        self.layers.resize(self.layers.len().max(layer + 1), Vec::new());
        self.layers[layer].push(index);
        let (above, below) = (Vec::new(), Vec::new());
        self.items.push(Item { name, layer, width, x: 0.0, above, below });
        index
    }

    fn connect(&mut self, from: usize, to: usize) {
        self.items[from].below.push(to);
        self.items[to].above.push(from);
    }

    fn arrange(&mut self) {
        let items = &self.items;
        let is_alone =
            |index: &usize| items[*index].above.is_empty() && items[*index].below.is_empty();
        self.layers.iter_mut().for_each(|layer| layer.retain(|index| !is_alone(index)));
        let alone: Vec<_> = (0..items.len()).filter(is_alone).collect();
        for round in 0..2 * ROUNDS {
            let mut layers: Vec<_> = (0..self.layers.len()).collect();
            if round % 2 == 1 {
                layers.reverse();
            }
            for layer in layers {
                self.arrange_layer(layer, round % 2 == 1, round < ROUNDS);
            }
        }
        for index in alone {
            let layer = self.items.iter().filter(|item| item.layer == self.items[index].layer);
            let right = layer.map(|item| item.x + item.width / 2.0).fold(0.0, f64::max);
            self.items[index].x = right + SPACE + self.items[index].width / 2.0;
        }
        let left = |item: &Item| item.x - item.width / 2.0;
        let least = self.items.iter().map(left).fold(f64::INFINITY, f64::min);
        self.items.iter_mut().for_each(|item| item.x -= least);
        let right = self.items.iter().map(|item| item.x + item.width / 2.0);
        self.width = right.fold(0.0, f64::max);
    }

    /// Moves the items of a layer to the middle of their neighbours, and apart from each other.
    fn arrange_layer(&mut self, layer: usize, is_upwards: bool, may_swap: bool) {
        let mut wanted = Vec::new();
        for index in &self.layers[layer] {
            let item = &self.items[*index];
            let neighbours = if is_upwards { &item.below } else { &item.above };
            let sum: f64 = neighbours.iter().map(|index| self.items[*index].x).sum();
            let count = neighbours.len();
            wanted.push((*index, if count == 0 { item.x } else { sum / count as f64 }));
        }
        if may_swap {
            wanted.sort_by(|a, b| a.1.total_cmp(&b.1));
        }
        // From the left, each is moved right as far as necessary; from the right, left. Their mean
        // keeps the distances.
        let distance =
            |a: usize, b: usize| (self.items[a].width + self.items[b].width) / 2.0 + SPACE;
        let mut right: Vec<f64> = wanted.iter().map(|(_, x)| *x).collect();
        let mut left = right.clone();
        for at in 1..wanted.len() {
            right[at] = right[at].max(right[at - 1] + distance(wanted[at - 1].0, wanted[at].0));
        }
        for at in (1..wanted.len()).rev() {
            left[at - 1] = left[at - 1].min(left[at] - distance(wanted[at - 1].0, wanted[at].0));
        }
        for (at, (index, _)) in wanted.iter().enumerate() {
            self.items[*index].x = f64::midpoint(right[at], left[at]);
        }
        self.layers[layer] = wanted.into_iter().map(|(index, _)| index).collect();
    }
}

/// Returns the layer of each name: as far down as possible below those that import it.
fn layers(names: &BTreeSet<String>, arrows: &Arrows) -> BTreeMap<String, usize> {
    let mut heights: BTreeMap<_, usize> = names.iter().map(|name| (name.clone(), 0)).collect();
    // A graph with circles would never be finished.
    for _ in names {
        for (from, to) in arrows {
            let height = heights[to] + 1;
            heights.entry(from.clone()).and_modify(|own| *own = height.max(*own));
        }
    }
    let highest = heights.values().copied().max().unwrap_or_default();
    heights.into_iter().map(|(name, height)| (name, highest - height)).collect()
}

/// Whether an arrow follows from others: `a -> c` from `a -> b` and `b -> c`.
fn follows((from, to): &(String, String), arrows: &Arrows) -> bool {
    let mut visited = BTreeSet::from([from]);
    let mut left = vec![from];
    while let Some(name) = left.pop() {
        for (_, next) in arrows.iter().filter(|arrow| arrow.0 == *name) {
            if next == to && name != from {
                return true;
            }
            if next != to && visited.insert(next) {
                left.push(next);
            }
        }
    }
    false
}
