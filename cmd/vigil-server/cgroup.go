package main

import (
	"bytes"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// memoryLimit is how much memory the process may have.
type memoryLimit struct {
	bytes int64  // 0: not known
	of    string // what sets it
}

// findMemoryLimit returns the lowest of the limits that the cgroups of the process set, from its
// own to the outermost that can be seen, and the memory of the machine. root is the root
// of the file system. Where there is no /proc the limit is not known.
func findMemoryLimit(root fs.FS) memoryLimit {
	least := memoryLimit{of: "the machine"}
	if b, err := fs.ReadFile(root, "proc/meminfo"); err == nil {
		_, rest, _ := bytes.Cut(b, []byte("MemTotal:"))
		if fields := bytes.Fields(rest); len(fields) > 0 {
			kib, _ := strconv.ParseInt(string(fields[0]), 10, 64)
			least.bytes = kib << 10
		}
	}
	for _, g := range memoryCgroups(root) {
		for dir := g.dir; ; dir = path.Dir(dir) {
			if n := g.limit(root, dir); n > 0 && (n < least.bytes || least.bytes == 0) {
				least = memoryLimit{n, "the cgroup /" + dir}
			}
			if len(dir) <= len(g.top) || dir == "." {
				break
			}
		}
	}
	return least
}

// cgroup is a cgroup of the process that may limit memory.
type cgroup struct {
	dir, top string // its directory, and that of the mount, as io/fs names them
	v2       bool
}

// memoryCgroups returns the cgroups of the process in hierarchies that may limit memory: the
// unified one (v2), and that of the controller memory (v1). There can be both.
func memoryCgroups(root fs.FS) (found []cgroup) {
	own, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return nil
	}
	mounts, err := fs.ReadFile(root, "proc/self/mountinfo")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(own)) { // number:controllers:path
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) < 3 {
			continue
		}
		v2 := parts[1] == "" && parts[0] == "0"
		if !v2 && !slices.Contains(strings.Split(parts[1], ","), "memory") {
			continue
		}
		for mount := range strings.Lines(string(mounts)) {
			if g, ok := cgroupAt(mount, parts[2], v2); ok {
				found = append(found, g)
			}
		}
	}
	return found
}

// cgroupAt returns the directory of a cgroup, whose path in its hierarchy is own, if a line
// of mountinfo is that of the hierarchy:
//
//	number parent device root mount-point options [field...] - type source options
func cgroupAt(line, own string, v2 bool) (g cgroup, ok bool) {
	before, after, _ := strings.Cut(line, " - ")
	mount, system := strings.Fields(before), strings.Fields(after)
	if len(mount) < 5 || len(system) < 3 {
		return g, false
	}
	if v2 && system[0] != "cgroup2" || !v2 && (system[0] != "cgroup" || !slices.Contains(strings.Split(system[2], ","), "memory")) {
		return g, false
	}
	// What is mounted may be a part of the hierarchy: in a container it is often the cgroup
	// itself, under a path that only the host knows.
	top := strings.TrimPrefix(unescape(mount[4]), "/")
	below, inside := strings.CutPrefix(own, strings.TrimSuffix(unescape(mount[3]), "/"))
	if !inside || below != "" && below[0] != '/' || strings.Contains(below, "..") {
		below = ""
	}
	return cgroup{dir: strings.TrimPrefix(path.Join(top, below), "/"), top: top, v2: v2}, true
}

// unescape undoes what mountinfo does to spaces and the like: a backslash and three octal
// digits.
func unescape(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		if s[0] == '\\' && len(s) >= 4 {
			if n, err := strconv.ParseUint(s[1:4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				s = s[4:]
				continue
			}
		}
		b.WriteByte(s[0])
		s = s[1:]
	}
	return b.String()
}

// limit returns the limit of the cgroup in dir, 0 if there is none. Above memory.high the
// system does not kill, but slows the process until it hardly moves. The file memory.stat of
// v1 knows of limits further out than what is mounted.
func (g cgroup) limit(root fs.FS, dir string) int64 {
	least := int64(math.MaxInt64)
	if g.v2 {
		least = min(readLimit(root, dir, "memory.max"), readLimit(root, dir, "memory.high"))
	} else {
		least = readLimit(root, dir, "memory.limit_in_bytes")
		if stat, err := fs.ReadFile(root, path.Join(dir, "memory.stat")); err == nil {
			for line := range strings.Lines(string(stat)) {
				if value, ok := strings.CutPrefix(line, "hierarchical_memory_limit "); ok {
					least = min(least, parseLimit(value))
				}
			}
		}
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least
}

func readLimit(root fs.FS, dir, name string) int64 {
	b, err := fs.ReadFile(root, path.Join(dir, name))
	if err != nil {
		return math.MaxInt64
	}
	return parseLimit(string(b))
}

// parseLimit reads a number of bytes; "max" is none.
func parseLimit(s string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil || n <= 0 {
		return math.MaxInt64
	}
	return n
}
