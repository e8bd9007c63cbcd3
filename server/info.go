package server

import (
	"time"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/info"
)

// INFO is sections of name:value lines. Each section is a function that writes
// its lines; infoSections lists them in the order in which they are shown.

var infoSections = info.Sections[*session]{
	{Name: "server", Usual: true, Write: infoServer},
	{Name: "tls", Write: infoTLS},
	{Name: "clients", Usual: true, Write: infoClients},
	{Name: "memory", Usual: true, Write: infoMemory},
	{Name: "persistence", Usual: true, Write: infoPersistence},
	{Name: "threads", Usual: true, Write: infoThreads},
	{Name: "stats", Usual: true, Write: infoStats},
	{Name: "replication", Usual: true, Write: infoReplication},
	{Name: "cpu", Usual: true, Write: infoCPU},
	{Name: "modules", Usual: true, Write: infoModules},
	{Name: "commandstats", Write: infoCommandStats},
	{Name: "errorstats", Usual: true, Write: infoErrorStats},
	{Name: "latencystats", Write: infoLatencyStats},
	{Name: "cluster", Usual: true, Write: infoCluster},
	{Name: "keyspace", Usual: true, Write: infoKeyspace},
	{Name: "keysizes", Apart: true, Write: infoKeySizes},
}

// Info writes the requested sections; unknown names are ignored.
func (s *session) Info(sections []string, show func([]byte)) {
	s.publish() // a transaction or a script may have counted
	infoSections.Show(sections, s, show)
}

// lately are figures for the cron, which does not wait for scripts: while one runs they are
// those gathered last.
func (srv *Server) lately() persistence.Stats {
	return srv.figures.Stats(srv.scripts.engine.Running())
}

// figureSource is what figures are gathered of.
type figureSource struct{ srv *Server }

func (f figureSource) Loading() bool   { return f.srv.loading.Load() }
func (f figureSource) Databases() int  { return f.srv.settings().limits.Databases }
func (f figureSource) Now() time.Time  { return f.srv.clock.Now() }
func (f figureSource) Resident() int64 { return ResidentBytes() }

func (f figureSource) LargestBuffers() (in, out int) {
	f.srv.clients.each(func(s *session) {
		v := s.view.load()
		in, out = max(in, v.input+v.inputFree), max(out, s.output.size())
	})
	return in, out
}
