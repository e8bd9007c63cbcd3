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
