package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/vigildb/vigil/server/conf"
)

func TestMemoryLimitIsTheLowestOfAllCgroupsAndTheMachine(t *testing.T) {
	const gb = 1 << 30
	const v2mount = "30 20 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	const v1mount = "29 20 0:25 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" +
		"32 31 0:31 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		bytes int64
		of    string
	}{
		{"no /proc", nil, 0, "the machine"},
		{"no cgroups", map[string]string{"proc/meminfo": "MemTotal:       16777216 kB\nMemFree: 5 kB\n"}, 16 * gb, "the machine"},
		{"v2", map[string]string{"proc/self/cgroup": "0::/a.slice/b.service\n", "proc/self/mountinfo": v2mount,
			"sys/fs/cgroup/a.slice/b.service/memory.max": "1073741824\n"}, gb, "the cgroup /sys/fs/cgroup/a.slice/b.service"},
		{"v2 without a limit", map[string]string{"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": v2mount,
			"sys/fs/cgroup/a/memory.max": "max\n", "sys/fs/cgroup/a/memory.high": "max\n"}, 16 * gb, "the machine"},
		{"v2, a limit of an ancestor", map[string]string{"proc/self/cgroup": "0::/a/b/c\n", "proc/self/mountinfo": v2mount,
			"sys/fs/cgroup/a/b/c/memory.max": "3221225472\n", "sys/fs/cgroup/a/memory.max": "2147483648\n"}, 2 * gb, "the cgroup /sys/fs/cgroup/a"},
		{"v2, above which the process is slowed", map[string]string{"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": v2mount,
			"sys/fs/cgroup/a/memory.max": "3221225472\n", "sys/fs/cgroup/a/memory.high": "2147483648\n"}, 2 * gb, "the cgroup /sys/fs/cgroup/a"},
		{"v2, more than the machine has", map[string]string{"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": v2mount,
			"sys/fs/cgroup/a/memory.max": "34359738368\n"}, 16 * gb, "the machine"},
		{"v2 in a namespace", map[string]string{"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": v2mount,
			"sys/fs/cgroup/memory.max": "1073741824\n"}, gb, "the cgroup /sys/fs/cgroup"},
		{"v2, moved out of the namespace", map[string]string{"proc/self/cgroup": "0::/../other\n", "proc/self/mountinfo": v2mount,
			"sys/fs/cgroup/memory.max": "1073741824\n", "sys/fs/other/memory.max": "1024\n"}, gb, "the cgroup /sys/fs/cgroup"},
		{"v1", map[string]string{"proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/a/b\n0::/\n", "proc/self/mountinfo": v1mount,
			"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": "1073741824\n", "sys/fs/cgroup/cpu,cpuacct/x/memory.limit_in_bytes": "5\n"},
			gb, "the cgroup /sys/fs/cgroup/memory/a/b"},
		{"v1 without a limit", map[string]string{"proc/self/cgroup": "4:memory:/a\n", "proc/self/mountinfo": v1mount,
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "9223372036854771712\n"}, 16 * gb, "the machine"},
		{"v1, a limit of an ancestor", map[string]string{"proc/self/cgroup": "4:memory:/a/b\n", "proc/self/mountinfo": v1mount,
			"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": "9223372036854771712\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes":   "1073741824\n"}, gb, "the cgroup /sys/fs/cgroup/memory/a"},
		{"v1 in a container, below a limit that is not mounted", map[string]string{"proc/self/cgroup": "4:memory:/docker/1f\n",
			"proc/self/mountinfo":                        "32 31 0:31 /docker/1f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
			"sys/fs/cgroup/memory/memory.stat":           "cache 5\nhierarchical_memory_limit 1073741824\nhierarchical_memsw_limit 5\n"},
			gb, "the cgroup /sys/fs/cgroup/memory"},
		{"v1 in a container that sees the path of the host", map[string]string{"proc/self/cgroup": "4:memory:/docker/1f/more\n",
			"proc/self/mountinfo":                             "32 31 0:31 /docker/1f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			"sys/fs/cgroup/memory/more/memory.limit_in_bytes": "1073741824\n"}, gb, "the cgroup /sys/fs/cgroup/memory/more"},
		{"a path that is only a part of the root's name", map[string]string{"proc/self/cgroup": "4:memory:/docker/1fe\n",
			"proc/self/mountinfo":                        "32 31 0:31 /docker/1f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824\n"}, gb, "the cgroup /sys/fs/cgroup/memory"},
		{"both, memory in v1", map[string]string{"proc/self/cgroup": "4:memory:/a\n0::/u\n",
			"proc/self/mountinfo":                          v1mount + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "1073741824\n"}, gb, "the cgroup /sys/fs/cgroup/memory/a"},
		{"a mount with a space", map[string]string{"proc/self/cgroup": "0::/a\n",
			"proc/self/mountinfo":      "30 20 0:26 / /my\\040groups rw - cgroup2 none rw\n",
			"my groups/a/memory.max":   "1073741824\n",
			"my\\040groups/memory.max": "5\n"}, gb, "the cgroup /my groups/a"},
		{"mounted as the root", map[string]string{"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": "30 20 0:26 / / rw - cgroup2 none rw\n",
			"a/memory.max": "1073741824\n"}, gb, "the cgroup /a"},
		{"lines that are none", map[string]string{"proc/self/cgroup": "\n0::\nx\n4:memory\n", "proc/self/mountinfo": "\n - \n1 2 3 4 5 - cgroup2 a\n" + v2mount}, 16 * gb, "the machine"},
	} {
		root := fstest.MapFS{}
		for name, text := range c.files {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if c.files["proc/self/cgroup"] != "" {
			root["proc/meminfo"] = &fstest.MapFile{Data: []byte("MemTotal:       16777216 kB\n")}
		}
		if got := findMemoryLimit(root); got.bytes != c.bytes || got.of != c.of {
			t.Errorf("%s: %d of %q, want %d of %q", c.name, got.bytes, got.of, c.bytes, c.of)
		}
	}
}

func TestMaxmemoryFollowsFromTheLimit(t *testing.T) {
	for _, c := range []struct{ limit, derived int64 }{
		{0, 0}, {20 * mbyte, leastDerived}, {64 * mbyte, leastDerived}, {100 * mbyte, 24 * mbyte},
		{256 * mbyte, 128 * mbyte}, {1024 * mbyte, 640 * mbyte}, {16384 * mbyte, 10880 * mbyte},
	} {
		if got := (memoryLimit{bytes: c.limit}).derive(); got != c.derived {
			t.Errorf("%d MB under a limit of %d, want %d", got/mbyte, c.limit/mbyte, c.derived/mbyte)
		}
	}
}

func TestStartSaysWhatMemoryItUses(t *testing.T) {
	limit := memoryLimit{100 * mbyte, "the cgroup /x"}
	const mayBeKilled = "The process takes up to"
	for _, c := range []struct {
		name  string
		args  []string
		limit memoryLimit
		want  string
	}{
		{"the defaults", nil, limit, "values move to disk beyond 24 MB, as the cgroup /x has 100 MB of memory"},
		{"another policy", []string{"--maxmemory-policy", "noeviction"}, limit, "with maxmemory-policy noeviction there is no other limit"},
		{"no disk", []string{"--save", "", "--appendonly", "no"}, limit, "there is no limit"},
		{"an unknown machine", nil, memoryLimit{}, ""},
		{"a maxmemory that fits", []string{"--maxmemory", "24mb"}, limit, ""},
		{"one that does not", []string{"--maxmemory", "80mb"}, limit, mayBeKilled + " 184 MB, but the cgroup /x has 100 MB"},
		{"a limit that is too low", nil, memoryLimit{50 * mbyte, "the machine"}, mayBeKilled + " 88 MB, but the machine has 50 MB"},
	} {
		config, err := conf.Load(c.args, nil)
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		reportMemory(config.Settings(), c.limit, slog.New(slog.NewTextHandler(&log, nil)))
		if c.want == "" && log.Len() > 0 || !strings.Contains(log.String(), c.want) {
			t.Errorf("%s: the log is %q, want %q", c.name, &log, c.want)
		}
		if !strings.Contains(c.want, mayBeKilled) && strings.Contains(log.String(), mayBeKilled) {
			t.Errorf("%s: %s", c.name, &log)
		}
	}
}

func TestCollectorLimitLeavesRoomForGarbage(t *testing.T) {
	for _, c := range []struct {
		name                  string
		h                     heap
		bound, most, resident int64
		want                  int64
	}{
		{"no maxmemory", heap{all: 50 * mbyte}, 0, 0, 80 * mbyte, 1<<63 - 1},
		{"what is outside the heap is taken off", heap{all: 30 * mbyte, live: 10 * mbyte, held: 25 * mbyte}, 64 * mbyte, 144 * mbyte, 90 * mbyte, 84 * mbyte},
		{"the process is not known", heap{all: 30 * mbyte, live: 10 * mbyte, held: 25 * mbyte}, 64 * mbyte, 144 * mbyte, 0, 120 * mbyte},
		{"more in use than the limit", heap{all: 500 * mbyte, live: 400 * mbyte, held: 480 * mbyte, unused: 10 * mbyte}, 64 * mbyte, 144 * mbyte, 530 * mbyte,
			434 * mbyte},
		{"and much to scan", heap{all: 500 * mbyte, live: 400 * mbyte, held: 480 * mbyte, unused: 10 * mbyte, scan: 200 * mbyte}, 64 * mbyte, 144 * mbyte, 530 * mbyte,
			530 * mbyte},
	} {
		if got := limitFor(c.h, c.bound, c.most, c.resident); got != c.want {
			t.Errorf("%s: %d MB, want %d", c.name, got/mbyte, c.want/mbyte)
		}
	}
}
