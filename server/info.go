package server

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
)

// INFO is sections of name:value lines. Each section is a function that writes
// its lines; infoSections lists them in the order in which they are shown.

type infoSection struct {
	name  string
	usual bool // shown when no section is asked for
	write func(*infoText)
}

// title is the name as its heading has it.
func (s *infoSection) title() string {
	if s.name == "cpu" {
		return "CPU"
	}
	return strings.ToUpper(s.name[:1]) + s.name[1:]
}

func infoSections() []infoSection {
	return []infoSection{
		{"server", true, infoServer},
		{"clients", true, infoClients},
		{"memory", true, infoMemory},
		{"persistence", true, infoPersistence},
		{"stats", true, infoStats},
		{"replication", true, infoReplication},
		{"cpu", true, infoCPU},
		{"modules", true, func(*infoText) {}},
		{"commandstats", false, infoCommandStats},
		{"errorstats", true, infoErrorStats},
		{"latencystats", false, infoLatencyStats},
		{"cluster", true, func(t *infoText) { t.line("cluster_enabled", 0) }},
		{"keyspace", true, infoKeyspace},
	}
}

// infoText is the text under construction and what the sections read.
type infoText struct {
	b       []byte
	srv     *Server
	figures storeFigures
}

// infoTexts keeps texts, so that not every INFO needs a buffer of its own.
var infoTexts = sync.Pool{New: func() any { return &infoText{} }}

func (t *infoText) line(name string, value any) {
	t.b = append(append(t.b, name...), ':')
	switch v := value.(type) { // as "%v", which is slow
	case string:
		t.b = append(t.b, v...)
	case int:
		t.b = strconv.AppendInt(t.b, int64(v), 10)
	case int64:
		t.b = strconv.AppendInt(t.b, v, 10)
	case uint64:
		t.b = strconv.AppendUint(t.b, v, 10)
	default:
		t.b = fmt.Append(t.b, v)
	}
	t.b = append(t.b, "\r\n"...)
}

// bytes writes a number of bytes, and a second line in a readable unit.
func (t *infoText) bytes(name string, n int64) {
	t.line(name, n)
	t.line(name+"_human", human(n))
}

// human writes a number of bytes as Redis shows it: 1.50M.
func human(n int64) string {
	const units = "KMGTP"
	if n < 1024 {
		return fmt.Sprintf("%dB", n)
	}
	v := float64(n) / 1024
	i := 0
	for v >= 1024 && i < len(units)-1 {
		v, i = v/1024, i+1
	}
	return fmt.Sprintf("%.2f%c", v, units[i])
}

// storeFigures are the store's numbers that take locks to gather.
type storeFigures struct {
	stats persistence.Stats
}

func (f *storeFigures) keys() (n int64) {
	for _, db := range f.stats.Databases {
		n += int64(db.Keys)
	}
	return n
}

// gather refreshes the figures, which are all zero while data is loaded. It locks one shard after
// the other, so the caller must not hold any.
func (srv *Server) gather() storeFigures {
	if srv.loading.Load() {
		return storeFigures{}
	}
	f := storeFigures{stats: srv.store.Stats()}
	f.stats.Databases = f.stats.Databases[:min(len(f.stats.Databases), srv.settings().limits.Databases)]
	srv.notePeak(f.stats.Memory)
	srv.admin.mu.Lock()
	defer srv.admin.mu.Unlock()
	srv.admin.figures = f
	return f
}

// lately is gather for the cron, which does not wait for scripts: while one runs the
// figures are those gathered last.
func (srv *Server) lately() storeFigures {
	if !srv.scripts.engine.Running() {
		return srv.gather()
	}
	srv.admin.mu.Lock()
	defer srv.admin.mu.Unlock()
	return srv.admin.figures
}

// figures are the store's numbers for a call: inside EXEC, which holds shards,
// those gathered last, which are at most a second old.
func (s *session) figures() storeFigures {
	if !s.locked {
		return s.srv.gather()
	}
	s.srv.admin.mu.Lock()
	defer s.srv.admin.mu.Unlock()
	return s.srv.admin.figures
}

func (srv *Server) notePeak(memory int64) {
	for {
		peak := srv.admin.peakMemory.Load()
		if memory <= peak || srv.admin.peakMemory.CompareAndSwap(peak, memory) {
			return
		}
	}
}

// Info writes the requested sections; unknown names are ignored.
func (s *session) Info(_ *commands.Ctx, sections []string) string {
	wanted := map[string]bool{}
	for _, name := range sections {
		wanted[strings.ToLower(name)] = true
	}
	everything := wanted["all"] || wanted["everything"]
	usual := len(sections) == 0 || wanted["default"]
	t := infoTexts.Get().(*infoText)
	defer infoTexts.Put(t)
	t.b, t.srv, t.figures = t.b[:0], s.srv, s.figures()
	for _, section := range infoSections() {
		if everything || wanted[section.name] || usual && section.usual {
			if len(t.b) > 0 {
				t.b = append(t.b, "\r\n"...)
			}
			t.b = append(append(append(t.b, "# "...), section.title()...), "\r\n"...)
			section.write(t)
		}
	}
	return string(t.b)
}
