//! How much memory there is for this process: the machine's, or the least that a control group around the process allows,
//! as in containers.

use std::fs;
use std::path::{Path, PathBuf};

/// Where control groups are.
const GROUPS: &str = "/sys/fs/cgroup";

/// Bytes of memory that this process may have, as far as the system says.
pub fn available() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let allowed = files(&groups).filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok());
    machine.into_iter().chain(allowed).min()
}

/// The memory of the machine, from `/proc/meminfo`.
fn total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The files that say how much the groups of a process, and those around them, may have. In a container the path of a
/// group may be that of the host; then only the outermost file is there. A file without a bound has a word in it, or a
/// number that is larger than any machine.
fn files(groups: &str) -> impl Iterator<Item = PathBuf> + '_ {
    groups.lines().flat_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let (root, file) = match controllers {
            "" => (Path::new(GROUPS).to_owned(), "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                (Path::new(GROUPS).join("memory"), "memory.limit_in_bytes")
            }
            _ => return Vec::new(),
        };
        let own = Path::new(path.trim_start_matches('/'));
        own.ancestors().map(|group| root.join(group).join(file)).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_groups_of_both_versions_are_asked_up_to_the_outermost() {
        let shown = |groups: &str| -> Vec<String> {
            files(groups).map(|file| file.to_string_lossy().replace("//", "/")).collect()
        };
        assert_eq!(
            shown("0::/system.slice/ptc.service\n"),
            [
                "/sys/fs/cgroup/system.slice/ptc.service/memory.max",
                "/sys/fs/cgroup/system.slice/memory.max",
                "/sys/fs/cgroup/memory.max",
            ]
        );
        assert_eq!(
            shown("5:devices:/a\n4:memory:/a\n1:name=systemd:/\n"),
            ["/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        );
    }

    #[test]
    fn the_machine_has_memory() {
        assert_eq!(total("MemFree: 1 kB\nMemTotal:       24682024 kB\n"), Some(24_682_024 * 1024));
        assert_eq!(total("nothing"), None);
        #[cfg(target_os = "linux")]
        assert!(available().is_some_and(|bytes| bytes > 1 << 20));
    }
}
