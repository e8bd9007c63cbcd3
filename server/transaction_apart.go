package server

import (
	"context"
	"slices"

	"github.com/vigildb/vigil/commands"
)

// A transaction of calls alone that the group has to agree on, such as CLUSTER ADDSLOTS, holds no locks: redis-cli --cluster fix
// sends such. There is nothing that has to be of one moment with the keys, so its calls are made one after the other, and EXEC replies when
// the last one has its outcome. In other transactions these calls are refused: they would wait while keys are locked.

// agrees reports whether a transaction is of such calls alone.
func (t *transaction) agrees() bool {
	return len(t.queue) > 0 && !slices.ContainsFunc(t.queue, func(q queuedCall) bool { return !q.cmd.Is(commands.Agrees) })
}

// execApart makes the calls of such a transaction in the background. What the client may do counts as of now.
func (t *transaction) execApart(c *commands.Ctx, queue []queuedCall) error {
	if err := c.MayCompute(0); err != nil {
		return err
	}
	refused := make([]error, len(queue))
	for i, q := range queue {
		if refused[i] = t.admit(c.Command, q.cmd, q.argv); refused[i] == nil && t.s.srv.audits.wants(q.cmd) {
			t.s.srv.audits.add(t.s, q.cmd, q.argv, auditBegun, false)
		}
	}
	srv, all := t.s.srv, commands.NewReply(nil, t.s.Proto())
	all.Array(len(queue))
	return c.Compute(func(ctx context.Context) (func(*commands.Reply), error) {
		for i, q := range queue {
			err := refused[i]
			if err == nil {
				err = srv.callApart(ctx, q, &all)
			}
			if err != nil {
				text, _ := commands.Text(err)
				srv.stats.countError(string(text))
				all.Error(text)
			}
			srv.stats.called(q.cmd, 0, err != nil)
		}
		return func(r *commands.Reply) { r.Raw(all.Encoded()) }, nil
	})
}

// callApart makes one call, and waits for its outcome.
func (srv *Server) callApart(ctx context.Context, q queuedCall, to *commands.Reply) error {
	s := makeSession(srv, nil)
	c := commands.Ctx{Command: q.cmd, Table: srv.table, Host: s, Client: &s.Client, Now: srv.clock.Now().UnixMilli(), Reply: commands.NewReply(nil, to.Proto())}
	c.Args.Reset(q.argv, 2) // they are all subcommands
	if err := q.cmd.Run(&c); err != nil {
		return err
	}
	if w := c.Parked(); w != nil {
		reply, err := w.Work(ctx)
		if err != nil {
			return err
		}
		reply(&c.Reply)
	}
	to.Raw(c.Reply.Encoded())
	return nil
}
