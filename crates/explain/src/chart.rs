//! The picture of a schedule: when the ranks of each host work, and when its link is busy.

use towpath_schedule::cost::Picoseconds;

use crate::arguments::Request;
use crate::canvas::{Canvas, Color, GLYPH};
use crate::cluster::Cluster;
use crate::timeline::{LEVELS, Level, Timeline};
use crate::words::{time, title};

/// Left end of the time axis, and its length, in pixels.
const LEFT: usize = 120;
const LENGTH: usize = 1000;
const RIGHT: usize = 40;
/// Above the first host: title and key. Below the last one: the axis.
const TOP: usize = 64;
const BOTTOM: usize = 40;
/// Height of a lane where hosts are few, and least height.
const LANE: usize = 10;
/// Height of all hosts together beyond which lanes become lower.
const TALL: usize = 2400;
/// Lanes of a group: what its uplink sends, and what it receives.
const UPLINK_LANES: usize = 2;
/// Lanes of a host: messages on the host, what its link sends, what it receives, and the processor
/// of its leader.
const LANES: usize = 4;

const INK: Color = [40, 40, 40];
const FAINT: Color = [225, 225, 225];
const BUSY: Color = [130, 130, 130];

/// The color of a level, and a lighter one for every second message, so that segments can be told
/// apart.
fn colors(level: Level) -> [Color; 2] {
    match level {
        Level::ToLeader => [[46, 125, 50], [129, 199, 132]],
        Level::InGroup => [[0, 131, 143], [77, 208, 225]],
        Level::BetweenHosts => [[21, 101, 192], [100, 181, 246]],
        Level::FromLeader => [[230, 81, 0], [255, 183, 77]],
        Level::OnHost => [[106, 27, 154], [186, 104, 200]],
    }
}

fn in_words(level: Level, has_groups: bool) -> &'static str {
    match level {
        Level::InGroup => "in a group",
        Level::BetweenHosts if has_groups => "between groups (upper lane: sent, lower: received)",
        Level::ToLeader => "to the leader",
        Level::BetweenHosts => "between hosts (upper lane: sent, lower: received)",
        Level::FromLeader => "from the leader",
        Level::OnHost => "on a host",
    }
}

/// Draws the schedule as a PNG file.
///
/// # Errors
/// If the picture cannot be encoded.
pub(crate) fn draw(
    request: &Request,
    cluster: &Cluster,
    timeline: &Timeline,
) -> Result<Vec<u8>, png::EncodingError> {
    let hosts = cluster.names.len();
    let rows = Rows::new(hosts, cluster.groups.len());
    let mut canvas = Canvas::new(LEFT + LENGTH + RIGHT, rows.bottom() + BOTTOM);
    canvas.text(8, 8, &title(request), INK);
    draw_key(&mut canvas, !cluster.groups.is_empty());
    draw_axis(&mut canvas, timeline.end, rows.bottom());
    for (row, name) in cluster.names.iter().chain(&cluster.groups).enumerate() {
        let (top, band) = (rows.top(row), rows.band(row));
        // Where bands are low, name every so many hosts.
        let first = if row < hosts { rows.top(0) } else { rows.top(hosts) };
        if (top - first).is_multiple_of((GLYPH + 2).next_multiple_of(band)) {
            let longest = (LEFT - 16) / GLYPH;
            let short: String = name.chars().take(longest).collect();
            canvas.text(8, top, &short, INK);
        }
        let lane = rows.lane(row);
        canvas.fill(LEFT, top + band - lane + lane / 2, LENGTH, 1, FAINT);
    }
    let placement = cluster.placement();
    let mut drawn = vec![[0usize; LANES]; hosts + cluster.groups.len()];
    let mut bar = |row: usize, number: usize, level: Level, (begin, end)| {
        let shade = drawn[row][number] % 2;
        drawn[row][number] += 1;
        let (from, to) = (at(begin, timeline.end), at(end, timeline.end));
        let (top, lane) = (rows.top(row) + number * rows.lane(row), rows.lane(row));
        canvas.fill(from, top, (to - from).max(1), lane, colors(level)[shade]);
    };
    for message in &timeline.messages {
        let level = timeline.level(cluster, message);
        if !matches!(level, Level::InGroup | Level::BetweenHosts) {
            bar(placement.host_of(message.to), 0, level, (message.begin, message.end));
        }
    }
    // Links have the numbers of their rows.
    for passage in &timeline.passages {
        let first = if passage.link < hosts { 1 } else { 0 };
        let number = first + usize::from(passage.is_inwards);
        bar(passage.link, number, passage.level, (passage.begin, passage.end));
    }
    for &(rank, begin, end) in &timeline.work {
        let host = placement.host_of(rank);
        if timeline.leader(host) == rank {
            let (from, to) = (at(begin, timeline.end), at(end, timeline.end));
            let (top, lane) = (rows.top(host), rows.lane(host));
            let top = top + (LANES - 1) * lane;
            canvas.fill(from, top, (to - from).max(1), lane, BUSY);
        }
    }
    canvas.encode()
}

/// Where a time is on the axis.
fn at(moment: Picoseconds, end: Picoseconds) -> usize {
    LEFT + (u128::from(moment) * LENGTH as u128 / u128::from(end.max(1))) as usize
}

/// The rows of the picture: those of groups are above those of hosts, and come after them by
/// number.
struct Rows {
    hosts: usize,
    groups: usize,
    /// Heights of the lanes of a host, and of a group.
    lanes: [usize; 2],
}

impl Rows {
    fn new(hosts: usize, groups: usize) -> Rows {
        let lane = |rows: usize, lanes: usize, tall: usize| {
            (tall / (rows.max(1) * (lanes + 1))).clamp(1, LANE)
        };
        let lanes = [lane(hosts, LANES, TALL), lane(groups, UPLINK_LANES, TALL / 3)];
        Rows { hosts, groups, lanes }
    }

    fn lane(&self, row: usize) -> usize {
        self.lanes[usize::from(row >= self.hosts)]
    }

    /// Height of a row.
    fn band(&self, row: usize) -> usize {
        let lanes = if row < self.hosts { LANES } else { UPLINK_LANES };
        self.lane(row) * (lanes + 1)
    }

    fn top(&self, row: usize) -> usize {
        match row.checked_sub(self.hosts) {
            Some(group) => TOP + group * self.band(row),
            None => TOP + self.groups * self.band(self.hosts) + row * self.band(row),
        }
    }

    fn bottom(&self) -> usize {
        self.top(0) + self.hosts * self.band(0)
    }
}

fn draw_key(canvas: &mut Canvas, has_groups: bool) {
    let mut left = 8;
    for level in LEVELS.into_iter().filter(|&level| has_groups || level != Level::InGroup) {
        let [dark, light] = colors(level);
        canvas.fill(left, 30, 10, 10, dark);
        canvas.fill(left + 10, 30, 10, 10, light);
        let words = in_words(level, has_groups);
        canvas.text(left + 26, 31, words, INK);
        left += 26 + GLYPH * (words.len() + 3);
    }
    canvas.fill(left, 30, 10, 10, BUSY);
    canvas.text(left + 16, 31, "leader works", INK);
}

/// Ticks at a round step.
fn draw_axis(canvas: &mut Canvas, end: Picoseconds, bottom: usize) {
    canvas.fill(LEFT, bottom, LENGTH, 1, INK);
    let step = round_step(end);
    for tick in (0..).map(|number| number * step).take_while(|&tick| tick <= end) {
        let left = at(tick, end);
        canvas.fill(left, TOP, 1, bottom - TOP, FAINT);
        canvas.fill(left, bottom, 1, 5, INK);
        canvas.text(left.saturating_sub(GLYPH), bottom + 10, &time(tick), INK);
    }
}

/// 1, 2 or 5 times a power of ten, so that there are 4 to 10 steps.
fn round_step(end: Picoseconds) -> Picoseconds {
    let power = 10u64.pow((end / 4).max(1).ilog10());
    [5, 2, 1].into_iter().map(|factor| factor * power).find(|step| end / step >= 4).unwrap_or(power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_has_few_round_ticks() {
        for end in [1, 7, 999, 1_000, 1_930_000_000, 40_000_001, u64::MAX / 4] {
            let step = round_step(end);
            assert!(end / step <= 20 && (end < 4 || end / step >= 4), "{end}: {step}");
        }
    }

    #[test]
    fn the_picture_shows_what_a_link_carries() {
        let words = ["gather", "--hosts", "2x2", "--bytes", "512K"].map(str::to_owned);
        let request = Request::parse(&words).unwrap();
        let cluster = Cluster::new(&request).unwrap();
        let timeline = Timeline::new(&request, &cluster).unwrap();
        let file = draw(&request, &cluster, &timeline).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        let band = LANE * (LANES + 1);
        assert_eq!(
            (info.width as usize, info.height as usize),
            (LEFT + LENGTH + RIGHT, TOP + 2 * band + BOTTOM)
        );
        let blue = |host: usize, number: usize| {
            let row = TOP + host * band + number * LANE + LANE / 2;
            let row = &pixels[3 * row * info.width as usize..][..3 * info.width as usize];
            let [dark, light] = colors(Level::BetweenHosts);
            row.chunks(3).filter(|pixel| *pixel == dark || *pixel == light).count()
        };
        // The second host sends its two blocks to the first one for nearly all of the time.
        assert!(blue(1, 1) > LENGTH * 8 / 10 && blue(0, 2) > LENGTH * 8 / 10);
        assert_eq!((blue(0, 1), blue(1, 2)), (0, 0));
    }
}
