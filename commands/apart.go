package commands

import (
	"context"

	"github.com/vigildb/vigil/structures"
)

// Job is a call that may take long: what it begins with its keys locked, it works on without locks, and ends with its
// keys locked again. So it makes no other client wait, and its effect is that of one moment.
type Job struct {
	// Bytes is about how much Work reads and makes; 0 if it is short, or needs the locks.
	Bytes int
	// Keys are those on which the result depends. If one of them changes between the locks the call starts anew.
	Keys [][]byte
	Work func() error
	// End makes the changes, and writes the reply.
	End func(c *Ctx) error
}

// Relocker is what a [Job] asks of the server.
type Relocker interface {
	// Observe begins to note whether keys of a database, which are locked, change.
	Observe(db int, keys [][]byte) Observation
	// Settle locks keys of a database and runs change as a call of its own, which
	// is as durable as appendfsync demands when Settle returns. Computations call it.
	Settle(db int, keys [][]byte, change func(c *Ctx)) error
}

// Observation is of some keys. It ends when nobody needs it.
type Observation interface {
	// Changed reports, while the keys are locked, whether one of them has changed.
	Changed() bool
	End()
}

const (
	// apartBytes is what a call may read and make with its keys locked: some ms.
	apartBytes = 1 << 20
	// apartTries is how often a call works without locks for keys that others change meanwhile.
	apartTries = 3
)

// Fork returns values as they are now, and their bytes, for a [Job] that works on them without locks. If that is not
// worthwhile, or not possible as pages are on disk only, they are the values themselves, and bytes is 0.
func Fork[T structures.Forkable](c *Ctx, values ...T) (forks []T, bytes int) {
	for _, v := range values {
		bytes += v.Size()
	}
	if !c.WorthAFork(bytes) {
		return values, 0
	}
	for _, v := range values {
		f, ok := v.Fork()
		if !ok {
			return values, 0
		}
		forks = append(forks, f.(T))
	}
	return forks, bytes
}

// WorthAFork reports whether a call that reads so many bytes is to use [Fork].
func (c *Ctx) WorthAFork(bytes int) bool { return !c.InMulti && bytes >= apartBytes }

// Apart makes a call in the three parts of the job that begin returns, which is called again if keys have changed. Small
// jobs, and those of MULTI and scripts, are done with the keys locked. So is one for which there is no room among the
// computations, or whose keys change all the time.
func (c *Ctx) Apart(begin func(c *Ctx) (*Job, error)) error {
	j, err := begin(c)
	if err != nil {
		return err
	}
	host, ok := c.Host.(Relocker)
	if !ok || c.InMulti || j.Bytes == 0 || c.MayCompute(j.Bytes) != nil {
		return j.locked(c)
	}
	a := &apart{host: host, cmd: c.Command, db: c.Client.DB(), proto: c.Reply.Proto(), begin: begin, job: j}
	argv := c.Args.All()
	for _, k := range c.Command.AppendKeys(nil, argv) {
		a.keys = append(a.keys, argv[k.Index])
	}
	a.keys = CopyArgs(a.keys)
	if len(j.Keys) > 0 { // else it does not start anew
		a.argv = CopyArgs(argv)
	}
	a.seen = host.Observe(a.db, j.Keys)
	return c.Compute(a.run)
}

// locked does a job with its keys locked.
func (j *Job) locked(c *Ctx) error {
	if err := j.Work(); err != nil {
		return err
	}
	return j.End(c)
}

// CopyArgs copies arguments of a call.
func CopyArgs(argv [][]byte) [][]byte {
	out := make([][]byte, len(argv))
	for i, a := range argv {
		out[i] = append([]byte(nil), a...)
	}
	return out
}

// apart is a call that works without locks.
type apart struct {
	host      Relocker
	cmd       *Command
	argv      [][]byte
	keys      [][]byte // all keys of the call
	db, proto int
	begin     func(c *Ctx) (*Job, error)
	job       *Job
	seen      Observation

	reply []byte
	err   error // of the last part
}

func (a *apart) run(ctx context.Context) (func(*Reply), error) {
	for try := 1; a.job != nil; try++ {
		err := a.job.Work()
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			a.seen.End()
			return nil, err
		}
		if err := a.host.Settle(a.db, a.keys, func(c *Ctx) { a.end(c, try) }); err != nil {
			a.seen.End()
			return nil, err
		}
	}
	return func(r *Reply) { r.Raw(a.reply) }, a.err
}

// end ends the job, or begins another one if keys have changed. The keys are locked.
func (a *apart) end(c *Ctx, try int) {
	c.Command, c.Reply = a.cmd, NewReply(nil, a.proto)
	c.Args.Reset(a.argv, 1)
	for _, key := range a.job.Keys {
		c.Tx.Kind(key) // one that has expired is removed now, which is a change
	}
	changed := a.seen.Changed()
	a.seen.End()
	j := a.job
	a.job = nil
	switch {
	case !changed:
		a.err = j.End(c)
	default:
		if j, a.err = a.begin(c); a.err != nil {
			return
		}
		if try < apartTries && j.Bytes > 0 {
			a.job, a.seen = j, a.host.Observe(a.db, j.Keys)
			return
		}
		a.err = j.locked(c)
	}
	if a.err == nil {
		a.err = c.Tx.Err()
	}
	a.reply = c.Reply.Encoded()
}
