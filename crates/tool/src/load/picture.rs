//! The picture: a strip for each rank, filled as high as its load was at that time. Of many ranks,
//! some have a strip together.

use towpath_explain::canvas::{Canvas, Color, EncodingError, GLYPH};

use super::{counted, end, load_between, percent};
use crate::samples::RankLine;

/// Left end of the time axis, and its length, in pixels.
const LEFT: usize = 90;
const LENGTH: usize = 1000;
/// Behind the axis: the mean load of each rank.
const RIGHT: usize = 70;
/// Above the first rank: title and key. Below the last one: the axis.
const TOP: usize = 64;
const BOTTOM: usize = 44;
/// Height of all strips together, and of one.
const TALL: usize = 960;
const HIGHEST: usize = 56;
/// Most strips.
const MOST_STRIPS: usize = 2000;
/// Strips that are lower show the load by their color.
const LOWEST_BARS: usize = 12;
/// Loads that may fill a strip.
const FULL: [f64; 5] = [0.05, 0.1, 0.25, 0.5, 1.0];
/// Height of the mark of a migration.
const MARK: usize = 5;
/// Ticks of the axis, at least.
const TICKS: f64 = 5.0;

const INK: Color = [40, 40, 40];
const FAINT: Color = [225, 225, 225];
const EMPTY: Color = [244, 244, 244];
const BUSY: Color = [21, 101, 192];
const MOVED: Color = [230, 81, 0];

/// Draws the loads as a PNG file.
pub(super) fn draw(ranks: &[Vec<&RankLine>]) -> Result<Vec<u8>, EncodingError> {
    let end = end(ranks).max(1e-6);
    let together = ranks.len().div_ceil(MOST_STRIPS).max(1);
    let strips = ranks.len().div_ceil(together);
    let strip = (TALL / strips.max(1)).clamp(2, HIGHEST);
    let bottom = TOP + strips * strip;
    let mut canvas = Canvas::new(LEFT + LENGTH + RIGHT, bottom + BOTTOM);
    let loads: Vec<Vec<f64>> = ranks.chunks(together).map(|some| columns(some, end)).collect();
    let full = full_height(&loads);
    draw_head(&mut canvas, ranks, (end, full), strip);
    // So many ranks have a name that names do not overlap.
    let named = (GLYPH + 6).div_ceil(strip);
    for (number, some) in ranks.chunks(together).enumerate() {
        let top = TOP + number * strip;
        let height = strip - usize::from(strip > 4);
        draw_loads(&mut canvas, &loads[number], full, top, height);
        some.iter().for_each(|lines| draw_migrations(&mut canvas, lines, end, top, height));
        if number.is_multiple_of(named) {
            let middle = (top + strip / 2).saturating_sub(GLYPH / 2);
            canvas.text(8, middle, &format!("rank {}", number * together), INK);
            let load = percent(mean(some, 0.0, end));
            canvas.text(LEFT + LENGTH + 10, middle, &load, INK);
        }
    }
    draw_axis(&mut canvas, end, bottom);
    canvas.encode()
}

/// The mean load of some ranks between two moments.
fn mean(ranks: &[Vec<&RankLine>], from: f64, to: f64) -> f64 {
    ranks.iter().map(|lines| load_between(lines, from, to)).sum::<f64>() / ranks.len().max(1) as f64
}

/// The mean load of some ranks in each column of pixels.
fn columns(ranks: &[Vec<&RankLine>], end: f64) -> Vec<f64> {
    let moment = |column: usize| end * column as f64 / LENGTH as f64;
    // There may be millions without a sample.
    let sampled: Vec<_> = ranks.iter().filter(|lines| !lines.is_empty()).cloned().collect();
    let part = sampled.len() as f64 / ranks.len().max(1) as f64;
    (0..LENGTH).map(|column| part * mean(&sampled, moment(column), moment(column + 1))).collect()
}

/// The load that fills a strip: nearly all that there are do not exceed it.
fn full_height(loads: &[Vec<f64>]) -> f64 {
    let mut all: Vec<f64> = loads.iter().flatten().copied().collect();
    all.sort_by(f64::total_cmp);
    let most = all.get(all.len() * 98 / 100).copied().unwrap_or(0.0);
    FULL.into_iter().find(|full| *full >= most).unwrap_or(1.0)
}

/// Draws title and key of a picture of so many seconds whose strips are full at this load.
fn draw_head(canvas: &mut Canvas, ranks: &[Vec<&RankLine>], (end, full): (f64, f64), strip: usize) {
    let most = ranks.iter().map(|lines| load_between(lines, 0.0, end)).fold(0.0, f64::max);
    let title = format!(
        "Load of {} over time: mean {}, largest {}",
        counted(ranks.len()),
        percent(mean(ranks, 0.0, end)),
        percent(most)
    );
    canvas.text(8, 8, &title, INK);
    let (shown, words) = if strip > LOWEST_BARS {
        (vec![BUSY], format!("methods run (full height: {})", percent(full)))
    } else {
        let shades = [0.0, 0.25, 0.5, 0.75, 1.0].map(shade).to_vec();
        (shades, format!("methods run (0 to {})", percent(full)))
    };
    for (number, color) in shown.iter().enumerate() {
        canvas.fill(8 + 10 * number, 32, 10, 10, *color);
    }
    let left = 8 + 10 * shown.len() + 6;
    canvas.text(left, 33, &words, INK);
    let left = left + GLYPH * (words.len() + 3);
    canvas.fill(left, 32, 2, 10, MOVED);
    canvas.text(left + 8, 33, "chares left", INK);
    canvas.text(LEFT + LENGTH + 10, 33, "mean", INK);
}

/// The color of a part of the full height, where strips are low.
fn shade(part: f64) -> Color {
    let mix = |from: u8, to: u8| (f64::from(from) + part * (f64::from(to) - f64::from(from))) as u8;
    [mix(EMPTY[0], BUSY[0]), mix(EMPTY[1], BUSY[1]), mix(EMPTY[2], BUSY[2])]
}

fn draw_loads(canvas: &mut Canvas, loads: &[f64], full: f64, top: usize, height: usize) {
    canvas.fill(LEFT, top, LENGTH, height, EMPTY);
    for (column, load) in loads.iter().enumerate() {
        let part = (load / full).min(1.0);
        if height < LOWEST_BARS {
            canvas.fill(LEFT + column, top, 1, height, shade(part));
        } else {
            let filled = (part * height as f64).round() as usize;
            canvas.fill(LEFT + column, top + height - filled, 1, filled, BUSY);
        }
    }
}

fn draw_migrations(canvas: &mut Canvas, lines: &[&RankLine], end: f64, top: usize, height: usize) {
    for pair in lines.windows(2).filter(|pair| pair[1].migrations > pair[0].migrations) {
        let column = ((pair[1].seconds / end * LENGTH as f64) as usize).min(LENGTH - 2);
        canvas.fill(LEFT + column, top, 2, MARK.min(height), MOVED);
    }
}

/// Ticks at a round step.
fn draw_axis(canvas: &mut Canvas, end: f64, bottom: usize) {
    canvas.fill(LEFT, bottom, LENGTH, 1, INK);
    let step = round_step(end);
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    let ticks = (0..).map(|number| f64::from(number) * step);
    for tick in ticks.take_while(|tick| *tick <= end * 1.000_001) {
        let left = LEFT + (tick / end * LENGTH as f64) as usize;
        canvas.fill(left, TOP - 6, 1, 6, FAINT);
        canvas.fill(left, bottom, 1, 5, INK);
        canvas.text(left.saturating_sub(GLYPH), bottom + 10, &format!("{tick:.decimals$}"), INK);
    }
    canvas.text(LEFT, bottom + 26, "seconds", INK);
}

/// 1, 2 or 5 times a power of ten, so that there are at least so many steps.
fn round_step(end: f64) -> f64 {
    let power = 10_f64.powf((end / TICKS).log10().floor());
    let steps = [5.0, 2.0, 1.0].map(|factor| factor * power);
    steps.into_iter().find(|step| end / step >= TICKS).unwrap_or(power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_has_few_round_ticks() {
        for end in [1e-6, 0.004, 0.9, 1.0, 3.7, 19.0, 1e5] {
            let step = round_step(end);
            assert!((TICKS..=13.0).contains(&(end / step)), "{end}: {step}");
        }
    }

    fn pixels(file: &[u8], ranks: usize, strip: usize) -> Vec<Vec<Color>> {
        let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        let size = (info.width as usize, info.height as usize);
        assert_eq!(size, (LEFT + LENGTH + RIGHT, TOP + ranks * strip + BOTTOM));
        let rows = bytes.chunks(3 * size.0);
        rows.map(|row| row.chunks(3).map(|pixel| pixel.try_into().unwrap()).collect()).collect()
    }

    #[test]
    fn strips_are_filled_as_high_as_the_load_is() {
        let line = |seconds, busy, migrations| RankLine {
            seconds,
            busy,
            migrations,
            ..RankLine::default()
        };
        let lines = [line(0.0, 0.0, 0), line(2.0, 1.0, 0), line(4.0, 3.0, 1)];
        let idle = [line(0.0, 0.0, 0), line(4.0, 0.0, 0)];
        let ranks: Vec<Vec<&RankLine>> = vec![lines.iter().collect(), idle.iter().collect()];
        let drawn = pixels(&draw(&ranks).unwrap(), 2, HIGHEST);
        let filled = |rank: usize, column: usize| {
            let rows = TOP + rank * HIGHEST..TOP + (rank + 1) * HIGHEST;
            rows.filter(|row| drawn[*row][LEFT + column] == BUSY).count()
        };
        assert!((HIGHEST / 2 - 1..=HIGHEST / 2 + 1).contains(&filled(0, 100)));
        assert!(filled(0, 900) >= HIGHEST - 1);
        assert_eq!(filled(1, 900), 0);
        assert_eq!(drawn[TOP + 1][LEFT + LENGTH - 2], MOVED, "a chare has left at the end");
    }

    #[test]
    fn many_ranks_are_drawn_by_color() {
        let lines = [0.0, 1.0].map(|busy| RankLine { seconds: busy, busy, ..RankLine::default() });
        let ranks: Vec<Vec<&RankLine>> = vec![lines.iter().collect(); 300];
        let drawn = pixels(&draw(&ranks).unwrap(), 300, 3);
        assert!((0..300).all(|rank| drawn[TOP + 3 * rank][LEFT + 500] == shade(1.0)));
    }
}
