//! Format of an audit line.

use std::time::{SystemTime, UNIX_EPOCH};

use super::AuditEvent;

/// The formatted current second, computed once per second.
#[derive(Debug, Default)]
pub(super) struct Clock {
    second: u64,
    text: String,
}

impl Clock {
    fn stamp(&mut self, line: &mut Vec<u8>) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        if now.as_secs() != self.second || self.text.is_empty() {
            self.second = now.as_secs();
            self.text = chrono::Local::now().format("%Y-%m-%d %H:%M:%S").to_string();
        }
        line.extend_from_slice(self.text.as_bytes());
        let ms = now.subsec_millis();
        let digit = |n: u32| b'0' + (n % 10) as u8;
        line.extend_from_slice(&[b',', digit(ms / 100), digit(ms / 10), digit(ms)]);
    }
}

pub(super) fn write(line: &mut Vec<u8>, clock: &mut Clock, logger: &str, event: &AuditEvent<'_>) {
    clock.stamp(line);
    let level: &[u8] = if event.result.is_ok() { b" | INFO  | " } else { b" | ERROR | " };
    line.extend_from_slice(level);
    line.extend_from_slice(logger.as_bytes());
    line.extend_from_slice(b" | user=");
    text(line, event.user);
    line.extend_from_slice(b" | ip=");
    text(line, event.ip);
    line.extend_from_slice(b" | op=");
    text(line, event.op);
    line.extend_from_slice(b" {");
    for (i, (name, value)) in event.params.iter().enumerate() {
        if i > 0 {
            line.extend_from_slice(b", ");
        }
        line.extend_from_slice(name.as_bytes());
        line.push(b'=');
        text(line, value);
    }
    line.extend_from_slice(b"} | ret=");
    match event.result {
        Ok(()) => line.extend_from_slice(b"SUCCESS"),
        Err(reason) => {
            line.extend_from_slice(b"FAILURE | ");
            text(line, reason);
        }
    }
    line.extend_from_slice(b" |\n");
}

/// Names may contain anything; escaping keeps one line and prevents forged fields.
fn text(line: &mut Vec<u8>, value: &str) {
    if value.bytes().all(|b| b >= b' ' && b != 0x7f) {
        line.extend_from_slice(value.as_bytes());
        return;
    }
    for c in value.chars() {
        if c.is_control() {
            line.extend(c.escape_default().map(|c| c as u8));
        } else {
            let mut utf8 = [0; 4];
            line.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes());
        }
    }
}
