//! Number of replicas that DataNodes have scanned since they started, from their metrics.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::scenario::erasure::board::Board;
use crate::scenario::erasure::layout::{Layout, machine};
use crate::scenario::process::on_runtime;
use crate::world::node::address;

/// The port of a DataNode's metrics.
const PORT: u16 = 9882;
/// Time limit for a DataNode's response.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Common part of the metric names of both kinds of scans.
const NAME: &str = "data_scan_containers";

/// Counts those of all DataNodes.
pub fn count(layout: &Layout, board: &Board) {
    on_runtime(async {
        for datanode in 0..layout.datanodes() {
            if let Ok(Ok(text)) = tokio::time::timeout(TIMEOUT, metrics(datanode)).await {
                board.count("replicas scanned", sum(&text));
            }
        }
    });
}

async fn metrics(datanode: usize) -> std::io::Result<String> {
    let mut stream = TcpStream::connect((address(machine(datanode)), PORT)).await?;
    stream.write_all(b"GET /metrics HTTP/1.0\r\nHost: dn\r\n\r\n").await?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await?;
    Ok(text)
}

fn sum(text: &str) -> u64 {
    let lines = text.lines().filter(|line| !line.starts_with('#') && line.contains(NAME));
    let values = lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok());
    values.sum::<f64>() as u64
}

#[cfg(test)]
mod tests {
    use super::sum;

    #[test]
    fn the_scans_of_all_disks_and_both_kinds_count() {
        let text = "# HELP a_data_scan_containers 7\n\
                    a_data_scan_containers_total{disk=\"1\"} 2\n\
                    a_data_scan_bytes_total{disk=\"1\"} 100\n\
                    a_metadata_scan_containers_total{disk=\"2\"} 3\n";
        assert_eq!(sum(text), 5);
    }
}
