//! The timeline of a run: machines with their steps as bars, as text, SVG or HTML.

use crate::visible;
use std::{collections::BTreeSet, fmt::Write as _};

/// One step on one machine, in seconds from the run's start.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// The machine.
    pub host: String,
    /// The step.
    pub step: String,
    /// Its purpose.
    pub title: String,
    /// When it started.
    pub start: f64,
    /// When it ended, or was last heard of.
    pub end: f64,
    /// Whether it failed or never ended.
    pub failed: bool,
}

impl Bar {
    /// Whether the step only waits for something.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.title.starts_with("wait for")
    }

    fn kind(&self) -> usize {
        KINDS
            .iter()
            .position(|(_, _, words)| words.iter().any(|word| self.step.contains(word)))
            .unwrap_or(KINDS.len() - 1)
    }
}

/// Categories of steps: name, colour, and words in the names of the steps. The first match counts.
const KINDS: &[(&str, &str, &[&str])] = &[
    ("cloud resources", "#1d7a72", &["/"]),
    ("etcd", "#b3541e", &["etcd"]),
    ("images", "#5b7d3a", &["image"]),
    ("Kubernetes", "#2f6690", &["kube-", "cluster", "node", "ready", "addon", "api"]),
    ("keys, configuration, programs", "#6b6b6b", &["pki", "kubeconfig", "config", "os-", "binar", "artifacts"]),
    ("other steps", "#7a5c99", &[]),
];
const FAILED: &str = "#c0182b";

/// A run.
#[derive(Clone, Debug)]
pub struct Chart {
    /// The title: what ran, where and when.
    pub title: String,
    /// In any order.
    pub bars: Vec<Bar>,
}

impl Chart {
    /// Returns the machines in the order of their first step.
    fn hosts(&self) -> Vec<(&str, Vec<&Bar>)> {
        let mut bars: Vec<&Bar> = self.bars.iter().collect();
        bars.sort_by(|a, b| a.start.total_cmp(&b.start).then(a.end.total_cmp(&b.end)));
        let mut hosts: Vec<(&str, Vec<&Bar>)> = Vec::new();
        for bar in bars {
            match hosts.iter_mut().find(|(host, _)| *host == bar.host) {
                Some((_, own)) => own.push(bar),
                None => hosts.push((&bar.host, vec![bar])),
            }
        }
        hosts
    }

    /// Returns the seconds from start to end.
    fn length(&self) -> f64 {
        self.bars.iter().map(|bar| bar.end).fold(0.01, f64::max)
    }

    /// Draws it as text for a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        const CELLS: usize = 48;
        let width = self.bars.iter().map(|bar| bar.step.chars().count()).max().unwrap_or_default();
        let cell = |time: f64| ((time / self.length() * CELLS as f64) as usize).min(CELLS);
        let mut text = format!("{}\n█ works  ░ waits  × failed or stopped\n", self.title);
        for (host, bars) in self.hosts() {
            let _ = writeln!(text, "\n{host}");
            for bar in bars {
                let (from, to) = (cell(bar.start).min(CELLS - 1), cell(bar.end));
                let mark = if bar.waits() { "░" } else { "█" };
                let mut drawn = mark.repeat(to.saturating_sub(from).max(1));
                if bar.failed {
                    drawn.pop();
                    drawn.push('×');
                }
                let line = format!(
                    "  {:width$}  {:7.2}s {:7.2} s  {}{drawn}",
                    bar.step,
                    bar.start,
                    bar.end - bar.start,
                    " ".repeat(from)
                );
                let _ = writeln!(text, "{line}");
            }
        }
        visible(&text).into_owned()
    }

    /// Draws it as a picture with a title and a legend. Tooltips show each bar's step, title and times.
    #[must_use]
    pub fn svg(&self) -> String {
        const WIDTH: f64 = 1200.0;
        const LEFT: f64 = 70.0;
        const LANE: f64 = 16.0;
        let scale = (WIDTH - LEFT - 20.0) / self.length();
        let (mut rows, mut y) = (String::new(), 78.0);
        for (host, bars) in self.hosts() {
            let _ = writeln!(rows, r#"<text x="8" y="{}" font-weight="bold">{}</text>"#, y + 11.0, escaped(host));
            // Overlapping bars are in separate lanes.
            let mut ends: Vec<f64> = Vec::new();
            for bar in bars {
                let lane = ends.iter().position(|end| *end <= bar.start).unwrap_or(ends.len());
                ends.resize(ends.len().max(lane + 1), 0.0);
                ends[lane] = bar.end.max(bar.start + 0.01);
                let (x, top) = (LEFT + bar.start * scale, y + lane as f64 * LANE);
                rows += &drawn(bar, x, top, ((bar.end - bar.start) * scale).max(1.5));
            }
            y += ends.len() as f64 * LANE + 12.0;
        }
        let ticks = [1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 300.0, 3600.0];
        let step = ticks.into_iter().find(|step| self.length() / step <= 24.0).unwrap_or(86_400.0);
        let mut grid = String::new();
        let mut tick = 0.0;
        while tick <= self.length() {
            let x = LEFT + tick * scale;
            let _ = write!(
                grid,
                r##"<path d="M{x:.1} 70V{}" stroke="#ddd"/><text x="{x:.1}" y="64" text-anchor="middle">{tick} s</text>"##,
                y - 6.0
            );
            tick += step;
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {y}\" font-family=\"monospace\" font-size=\"10\">\
             <defs><pattern id=\"wait\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
             <rect width=\"5\" height=\"5\" fill=\"#f4f1ea\"/><path d=\"M0 0V5\" stroke=\"#b9b2a3\" stroke-width=\"2\"/></pattern></defs>\
             <rect width=\"{WIDTH}\" height=\"{y}\" fill=\"#fff\"/>\
             <text x=\"8\" y=\"18\" font-size=\"13\" font-weight=\"bold\">{}</text>{}\n{grid}\n{rows}</svg>\n",
            escaped(&self.title),
            self.legend()
        )
    }

    /// Draws it as a page with the picture, and the steps as a table.
    #[must_use]
    pub fn html(&self) -> String {
        let mut rows = String::new();
        for (host, bars) in self.hosts() {
            for bar in bars {
                let _ = writeln!(
                    rows,
                    "<tr><td>{}<td>{}<td>{}{}<td>{:.2}<td>{:.2}",
                    escaped(host),
                    escaped(&bar.step),
                    escaped(&bar.title),
                    if bar.failed { " (failed or stopped)" } else { "" },
                    bar.start,
                    bar.end - bar.start
                );
            }
        }
        let title = escaped(&self.title);
        format!(
            "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title>\n\
             <style>body{{font-family:sans-serif}}td,th{{padding:0 1em 0 0;text-align:left}}</style>\n{}\
             <table><tr><th>machine<th>step<th>what it does<th>start (s)<th>duration (s)\n{rows}</table></html>\n",
            self.svg()
        )
    }

    /// What the colours of this chart mean.
    fn legend(&self) -> String {
        let kinds: BTreeSet<usize> = self.bars.iter().map(Bar::kind).collect();
        let kinds = kinds.into_iter().map(|kind| (KINDS[kind].0, format!("fill=\"{}\"", KINDS[kind].1)));
        let others = [
            ("waiting (hatched)", "fill=\"url(#wait)\" stroke=\"#6b6b6b\"".to_owned()),
            ("failed or stopped", format!("fill=\"{FAILED}\"")),
        ];
        let mut x = 8.0;
        let mut svg = String::new();
        for (name, look) in kinds.chain(others) {
            let _ = write!(
                svg,
                "<rect x=\"{x}\" y=\"30\" width=\"14\" height=\"13\" rx=\"2\" {look}/><text x=\"{}\" y=\"40\">{name}</text>",
                x + 20.0
            );
            x += 44.0 + 6.2 * name.chars().count() as f64;
        }
        svg
    }
}

fn drawn(bar: &Bar, x: f64, top: f64, width: f64) -> String {
    let colour = if bar.failed { FAILED } else { KINDS[bar.kind()].1 };
    let look = match bar.waits() {
        true => format!("fill=\"url(#wait)\" stroke=\"{colour}\""),
        false => format!("fill=\"{colour}\""),
    };
    let tip = format!("{}: {}, {:.2} s to {:.2} s", bar.step, bar.title, bar.start, bar.end);
    let mut svg = format!(
        "<g><title>{}</title><rect x=\"{x:.1}\" y=\"{top}\" width=\"{width:.1}\" height=\"13\" rx=\"2\" {look}/>",
        escaped(&tip)
    );
    if width > 6.2 * bar.step.chars().count() as f64 + 8.0 {
        let ink = if bar.waits() { "#222" } else { "#fff" };
        let (x, y) = (x + 4.0, top + 10.0);
        let _ = write!(svg, "<text x=\"{x:.1}\" y=\"{y}\" fill=\"{ink}\">{}</text>", escaped(&bar.step));
    }
    svg + "</g>\n"
}

/// Escapes text of other machines for XML: removes markup and control characters.
fn escaped(text: &str) -> String {
    visible(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(host: &str, step: &str, title: &str, start: f64, end: f64) -> Bar {
        Bar { host: host.into(), step: step.into(), title: title.into(), start, end, failed: false }
    }

    fn chart() -> Chart {
        let bars = vec![
            bar("m2", "etcd", "start <etcd>", 4.0, 8.0),
            bar("m1", "pki", "generate certificates", 0.0, 2.0),
            bar("m1", "node-ready", "wait for the node", 2.0, 8.0),
            Bar { failed: true, ..bar("m1", "images", "import", 1.0, 4.0) },
        ];
        Chart { title: "up of cluster lab".into(), bars }
    }

    #[test]
    fn text_shows_work_and_waits_to_scale() {
        let text = chart().text();
        let line = |step: &str| text.lines().find(|line| line.trim_start().starts_with(step)).unwrap_or_default();
        assert!(text.starts_with("up of cluster lab\n█ works  ░ waits"), "{text}");
        assert_eq!(line("pki").matches('█').count(), 12);
        assert_eq!(line("node-ready").matches('░').count(), 36);
        assert!(line("images").ends_with("█×"), "{text}");
        let order: Vec<usize> =
            ["m1", "pki", "images", "node-ready", "m2", "etcd"].iter().filter_map(|s| text.find(s)).collect();
        assert!(order.is_sorted() && order.len() == 6, "{text}");
    }

    #[test]
    fn pictures_have_a_title_a_legend_and_no_foreign_markup() {
        let svg = chart().svg();
        for part in ["up of cluster lab", ">waiting (hatched)<", ">etcd<", "start &lt;etcd&gt;, 4.00 s to 8.00 s"] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        assert_eq!(svg.matches("url(#wait)").count(), 2, "one bar, and the legend");
        assert!(chart().html().contains("<td>node-ready<td>wait for the node<td>2.00<td>6.00"));
    }
}
