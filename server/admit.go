package server

import (
	"cmp"
	"errors"
	"slices"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/acl"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/eviction"
	"github.com/vigildb/vigil/structures/slots"
)

// errPaused is returned by check when CLIENT PAUSE holds the command back.
var errPaused = errors.New("paused")

// admission decides whether the calls of a client may run.
type admission struct {
	s    *session
	slot int // of the keys of the call, if clients see slots; commands.NoSlot while there is none
	// As they were when the last call was admitted.
	own, frozen *slots.Set
}

// check decides whether a call may run now, in Redis's order of checks. nil
// means yes.
func (a *admission) check(cmd *commands.Command, sub bool, argv [][]byte) error {
	s := a.s
	if cmd == nil {
		return commands.ErrUnknownCommand(argv)
	}
	unknown := !sub && len(cmd.Subcommands()) > 0 && len(argv) > 1
	switch {
	case cmd.Is(commands.Protected) && len(argv) > 1 && !s.srv.settings().conf.EnableDebugCommand.Allows(s.local()):
		return commands.ErrDebugNotAllowed
	case unknown && !cmd.Is(commands.OpenWords):
		return commands.ErrUnknownSubcommand(cmd, argv[1])
	case !unknown && len(cmd.Subcommands()) > 0 && !sub && cmd.Run == nil, !cmd.ArityOK(len(argv)):
		return commands.ErrArity(cmd)
	case !s.Has(commands.ClientAuthenticated) && !cmd.Is(commands.NoAuth) && s.access.mustAuth():
		return commands.ErrNoAuth
	case cmd.Is(commands.NoMulti|commands.NotQueued) && s.Has(commands.ClientMulti):
		return commands.ErrWatchInMulti
	case cmd.Is(commands.NoMulti) && s.Has(commands.ClientMulti):
		return commands.ErrNotInMulti
	}
	if !s.access.unrestricted() {
		if err := s.access.judge(cmd, argv, acl.TopLevel); err != nil {
			return err
		}
	}
	if unknown {
		return commands.ErrUnknownSubcommand(cmd, argv[1])
	}
	if s.messaging.subs.Any() && s.Proto() == 2 && !cmd.Is(commands.Subscriber) {
		return commands.ErrNotAllowedSubscribed(cmd)
	}
	if err := a.checkLoading(cmd); err != nil {
		return err
	}
	if err := cmp.Or(a.checkIncomplete(cmd), a.checkStale(cmd)); err != nil {
		return err
	}
	if err := a.checkBusy(cmd); err != nil {
		return err
	}
	if err := admitKeys(cmd, argv); err != nil {
		return err
	}
	if err := a.checkMember(cmd, argv); err != nil {
		return err
	}
	if err := a.checkWrite(cmd); err != nil {
		return err
	}
	if a.paused(cmd, argv) {
		return errPaused
	}
	return nil
}

// admitKeys refuses a call that names a key which is too long.
func admitKeys(cmd *commands.Command, argv [][]byte) error {
	long := func(arg []byte) bool { return len(arg) > persistence.MaxKey }
	if len(cmd.Keys) == 0 || !slices.ContainsFunc(argv, long) {
		return nil // the keys are looked for in few calls
	}
	for _, k := range cmd.AppendKeys(nil, argv) {
		if long(argv[k.Index]) {
			return commands.ErrKeyTooLong
		}
	}
	return nil
}

// checkWrite refuses writes that the store cannot take: no memory left under a
// policy that removes nothing, or a journal that cannot be written.
func (a *admission) checkWrite(cmd *commands.Command) error {
	s := a.s
	flags := a.effects(cmd)
	if flags&commands.DenyOOM != 0 && s.srv.crowded() {
		return commands.ErrOOM
	}
	switch {
	case flags&commands.Write == 0:
		return nil
	case a.frees(cmd) && !s.srv.following.readOnly():
		return cmp.Or(refused(s.srv.store.DeleteError()), s.srv.lonely())
	}
	return s.srv.unwritable()
}

// frees reports whether a call that writes only frees room; EXEC does if all queued calls do that write.
func (a *admission) frees(cmd *commands.Command) bool {
	if cmd.Is(commands.LocksQueue) {
		return a.s.transaction.frees()
	}
	return cmd.Is(commands.Frees)
}

// unwritable is the error of writes if there are none now: the disk cannot be written, the keys are a master's, or
// another member leads the group.
func (srv *Server) unwritable() error {
	if srv.following.readOnly() {
		return commands.ErrReadOnlyReplica
	}
	return srv.unchangeable()
}

// unchangeable is the error of all changes, also of those that are not of keys.
func (srv *Server) unchangeable() error {
	return cmp.Or(refused(srv.store.WriteError()), srv.lonely())
}

// refused is what clients get for an error of the store.
func refused(err error) error {
	switch {
	case errors.Is(err, persistence.ErrNotLeader):
		return commands.ErrReadOnlyReplica
	case err != nil:
		return commands.ErrMisconf
	}
	return nil
}

// makeRoom removes keys by the policy before a call, even one that only reads, as Redis
// does. A client that caches one of them is told before it gets the reply of the call.
func (s *session) makeRoom() {
	s.srv.store.Eviction().MakeRoom()
	if s.Has(commands.ClientTracking) && s.waiting == nil {
		s.output.collect()
	}
}

// crowded frees memory by the policy, and reports whether memory is still over
// its limit and nothing could be removed. If values spill, spilling cannot help
// a limit that is too low to hold anything.
func (srv *Server) crowded() bool {
	before := srv.store.Memory()
	srv.store.Eviction().MakeRoom()
	return srv.store.Eviction().Over() &&
		(srv.store.Memory() >= before || srv.settings().policy == eviction.Spill)
}

// effects are the flags of a call; the flags of EXEC are those of all queued calls together.
func (a *admission) effects(cmd *commands.Command) commands.Flag {
	flags := cmd.Flags
	if cmd.Is(commands.LocksQueue) {
		flags |= a.s.transaction.flags()
	}
	return flags
}

// reject writes the error of a call that did not run. Inside MULTI the transaction
// will fail, and EXEC itself ends it.
func (s *session) reject(cmd *commands.Command, err error) {
	if s.Has(commands.ClientMulti) && (cmd == nil || !cmd.Is(commands.NotQueued) || cmd.Is(commands.NoMulti)) {
		s.Set(commands.ClientDirtyExec)
	}
	text, _ := commands.Text(err)
	if cmd != nil && cmd.Is(commands.LocksQueue) {
		s.transaction.end()
		if !redirects(err) {
			text = commands.ErrExecDiscarded(text)
		}
	}
	s.srv.stats.rejected(cmd)
	s.srv.stats.countError(string(text))
	s.ctx.Reply.Error(text)
}
