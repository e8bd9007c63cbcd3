package server

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vigildb/vigil/persistence"
)

// INFO is sections of name:value lines. Each section is a function that writes
// its lines; infoSections lists them in the order in which they are shown.

type infoSection struct {
	name  string
	usual bool // shown when no section is asked for
	apart bool // shown only when it is asked for by its name, as it takes long
	write func(*infoText)
}

// title is the name as its heading has it.
func (s *infoSection) title() string {
	if s.name == "cpu" || s.name == "tls" {
		return strings.ToUpper(s.name)
	}
	return strings.ToUpper(s.name[:1]) + s.name[1:]
}

var infoSections = []infoSection{
	{name: "server", usual: true, write: infoServer},
	{name: "tls", write: infoTLS},
	{name: "clients", usual: true, write: infoClients},
	{name: "memory", usual: true, write: infoMemory},
	{name: "persistence", usual: true, write: infoPersistence},
	{name: "threads", usual: true, write: infoThreads},
	{name: "stats", usual: true, write: infoStats},
	{name: "replication", usual: true, write: infoReplication},
	{name: "cpu", usual: true, write: infoCPU},
	{name: "modules", usual: true, write: infoModules},
	{name: "commandstats", write: infoCommandStats},
	{name: "errorstats", usual: true, write: infoErrorStats},
	{name: "latencystats", write: infoLatencyStats},
	{name: "cluster", usual: true, write: infoCluster},
	{name: "keyspace", usual: true, write: infoKeyspace},
	{name: "keysizes", apart: true, write: infoKeySizes},
}

// infoText is the text under construction and what the sections read.
type infoText struct {
	b       []byte
	session *session
	srv     *Server
	stats   persistence.Stats
	known   bool // stats are there
}

// infoTexts keeps texts, so that not every INFO needs a buffer of its own.
var infoTexts = sync.Pool{New: func() any { return &infoText{} }}

// store returns the store's numbers, which are gathered for the first section that needs them.
func (t *infoText) store() *persistence.Stats {
	if !t.known {
		t.stats, t.known = t.session.figures(), true
	}
	return &t.stats
}

// field writes a line.
func field[T string | int | int32 | int64 | uint64](t *infoText, name string, value T) {
	t.b = append(append(t.b, name...), ':')
	switch v := any(value).(type) {
	case string:
		t.b = append(t.b, v...)
	case int:
		t.b = strconv.AppendInt(t.b, int64(v), 10)
	case int32:
		t.b = strconv.AppendInt(t.b, int64(v), 10)
	case int64:
		t.b = strconv.AppendInt(t.b, v, 10)
	case uint64:
		t.b = strconv.AppendUint(t.b, v, 10)
	}
	t.b = append(t.b, "\r\n"...)
}

// decimal writes a number with so many digits behind its point, and a unit.
func (t *infoText) decimal(name string, value float64, digits int, unit string) {
	t.b = append(append(t.b, name...), ':')
	t.b = strconv.AppendFloat(t.b, value, 'f', digits, 64)
	t.b = append(append(t.b, unit...), "\r\n"...)
}

// bytes writes a number of bytes, and a second line in a readable unit.
func (t *infoText) bytes(name string, n int64) {
	field(t, name, n)
	t.b = append(append(t.b, name...), "_human:"...)
	t.b = append(appendHuman(t.b, n), "\r\n"...)
}

// appendHuman appends a number of bytes as Redis shows it: 1.50M.
func appendHuman(b []byte, n int64) []byte {
	const units = "KMGTP"
	if n < 1024 {
		return append(strconv.AppendInt(b, n, 10), 'B')
	}
	v := float64(n) / 1024
	i := 0
	for v >= 1024 && i < len(units)-1 {
		v, i = v/1024, i+1
	}
	return append(strconv.AppendFloat(b, v, 'f', 2, 64), units[i])
}

// gather refreshes the figures, which are all zero while data is loaded. It locks one shard after
// the other, so the caller must not hold any.
func (srv *Server) gather() persistence.Stats {
	if srv.loading.Load() {
		return persistence.Stats{}
	}
	st := srv.store.Stats()
	st.Databases = st.Databases[:min(len(st.Databases), srv.settings().limits.Databases)]
	srv.notePeak(st.Memory)
	srv.admin.mu.Lock()
	defer srv.admin.mu.Unlock()
	srv.admin.figures = st
	return st
}

// lately is gather for the cron, which does not wait for scripts: while one runs the
// figures are those gathered last.
func (srv *Server) lately() persistence.Stats {
	if !srv.scripts.engine.Running() {
		return srv.gather()
	}
	srv.admin.mu.Lock()
	defer srv.admin.mu.Unlock()
	return srv.admin.figures
}

// figures are the store's numbers for a call: inside EXEC, which holds shards,
// those gathered last, which are at most a second old.
func (s *session) figures() persistence.Stats {
	if !s.locked {
		return s.srv.gather()
	}
	s.srv.admin.mu.Lock()
	defer s.srv.admin.mu.Unlock()
	return s.srv.admin.figures
}

// slowFiguresAge is how old slowFigures may be.
const slowFiguresAge = 100 * time.Millisecond

// slowFigures are those that take longer to gather than the rest of INFO.
type slowFigures struct {
	at   time.Time
	disk persistence.DiskStats // all zero while data is loaded
	heap heapFigures
	// The largest buffers of clients, in bytes.
	largestIn, largestOut int
}

// slowly returns figures that were gathered now or lately.
func (srv *Server) slowly() *slowFigures {
	now := srv.clock.Now()
	if f := srv.admin.slow.Load(); f != nil {
		if age := now.Sub(f.at); age >= 0 && age < slowFiguresAge {
			return f
		}
	}
	f := &slowFigures{at: now, heap: readHeap()}
	if !srv.loading.Load() {
		f.disk = srv.store.DiskStats()
	}
	srv.clients.each(func(s *session) {
		v := s.view.load()
		f.largestIn = max(f.largestIn, v.input+v.inputFree)
		f.largestOut = max(f.largestOut, s.out.size())
	})
	srv.admin.slow.Store(f)
	return f
}

func (srv *Server) notePeak(memory int64) {
	for {
		peak := srv.admin.peakMemory.Load()
		if memory <= peak {
			return
		}
		if srv.admin.peakMemory.CompareAndSwap(peak, memory) {
			srv.admin.peakTime.Store(srv.clock.Now().Unix())
			return
		}
	}
}

// Info writes the requested sections; unknown names are ignored.
func (s *session) Info(sections []string, show func([]byte)) {
	s.publish() // a transaction or a script may have counted
	wanted := map[string]bool{}
	for _, name := range sections {
		wanted[strings.ToLower(name)] = true
	}
	everything := wanted["all"] || wanted["everything"]
	usual := len(sections) == 0 || wanted["default"]
	t := infoTexts.Get().(*infoText)
	*t = infoText{b: t.b[:0], session: s, srv: s.srv}
	for i := range infoSections {
		section := &infoSections[i]
		if everything && !section.apart || wanted[section.name] || usual && section.usual {
			if len(t.b) > 0 {
				t.b = append(t.b, "\r\n"...)
			}
			t.b = append(append(append(t.b, "# "...), section.title()...), "\r\n"...)
			section.write(t)
		}
	}
	show(t.b)
	*t = infoText{b: t.b}
	infoTexts.Put(t)
}
