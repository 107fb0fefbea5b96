//! The results as SVG.

use std::error::Error;
use std::path::Path;

use plotters::prelude::*;

use crate::Outcome;
use crate::load::Second;
use anyhow::{Result, anyhow};

const SIZE: (u32, u32) = (900, 420);

/// A value plotted over time.
struct Plot {
    file: &'static str,
    title: &'static str,
    unit: &'static str,
    /// True for latencies, which differ by orders of magnitude.
    logarithmic: bool,
    of: fn(&Second) -> f64,
}

const PLOTS: [Plot; 5] = [
    Plot {
        file: "write-rate.svg",
        title: "Writes of other clients",
        unit: "rows/s",
        logarithmic: false,
        of: |s| s.writes,
    },
    Plot {
        file: "seek-p99.svg",
        title: "Time to the first row of the bucket that is emptied, p99",
        unit: "ms",
        logarithmic: true,
        of: |s| s.seek.1,
    },
    Plot {
        file: "list-p99.svg",
        title: "List of 100 rows of that bucket, p99",
        unit: "ms",
        logarithmic: true,
        of: |s| s.list.1,
    },
    Plot {
        file: "compacted.svg",
        title: "Bytes that compactions read and wrote so far",
        unit: "MB",
        logarithmic: false,
        of: |s| s.compacted_bytes as f64 / 1e6,
    },
    Plot {
        file: "cpu.svg",
        title: "Processor time so far, load included",
        unit: "s",
        logarithmic: false,
        of: |s| s.cpu,
    },
];

/// Writes all plots into a directory.
///
/// # Errors
/// If they cannot be written.
pub(crate) fn all(out: &Path, outcomes: &[Outcome]) -> Result<()> {
    for plot in &PLOTS {
        let path = out.join(plot.file);
        draw(&path, plot, outcomes).map_err(|e| anyhow!("{}: {e}", path.display()))?;
    }
    Ok(())
}

fn draw(path: &Path, plot: &Plot, outcomes: &[Outcome]) -> Result<(), Box<dyn Error>> {
    let seconds = || outcomes.iter().flat_map(|o| &o.measured.seconds);
    let last = seconds().map(|s| s.at).fold(1.0, f64::max);
    let highest = seconds().map(plot.of).fold(0.0, f64::max).max(1e-3);
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let mut builder = ChartBuilder::on(&root);
    builder
        .caption(plot.title, ("sans-serif", 18))
        .margin(8)
        .x_label_area_size(36)
        .y_label_area_size(70);
    // The two kinds of axis are two types of chart.
    macro_rules! lines {
        ($range:expr) => {{
            let mut chart = builder.build_cartesian_2d(0.0..last, $range)?;
            chart.configure_mesh().x_desc("seconds").y_desc(plot.unit).draw()?;
            for (i, outcome) in outcomes.iter().enumerate() {
                let style = Palette99::pick(i).stroke_width(2);
                let points =
                    outcome.measured.seconds.iter().map(|s| (s.at, (plot.of)(s).max(1e-3)));
                chart
                    .draw_series(LineSeries::new(points, style))?
                    .label(outcome.variant.name())
                    .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
            }
            chart
                .configure_series_labels()
                .background_style(WHITE.mix(0.8))
                .border_style(BLACK)
                .draw()?;
        }};
    }
    match plot.logarithmic {
        true => lines!((1e-3..highest * 2.0).log_scale()),
        false => lines!(0.0..highest * 1.1),
    }
    root.present()?;
    Ok(())
}
