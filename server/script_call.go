package server

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/acl"
	"github.com/vigildb/vigil/commands/script/lua"
	"github.com/vigildb/vigil/server/blocking"
)

// scripting is the part of a session that runs a script.
type scripting struct {
	s       *session
	inside  bool              // the gate
	began   time.Duration     // of the call, in this turn
	crowded bool              // memory was full when the call began
	written bool              // a command that writes was called
	bug     any               // a panic of a command
	cmd     *commands.Command // that runs the script
	sent    *commands.Command // by the client: cmd, or EXEC
	argv    [][]byte          // of cmd
	limits  struct{ readOnly, allowOOM, crossSlot bool }
	memory  int64          // bytes that it may use
	former  *lua.Libraries // of before the call, if it has changed them
	reply   commands.Reply // to the call, while that of the context is of its commands

	// Methods as functions, from the first script on.
	changed func(db int, key []byte) // of the session
	fits    func(size int) bool      // mayGrow
}

// lock is lock for a call that runs scripts. These may touch more keys than the call
// declares; reach locks them.
func (x *scripting) lock(cmd *commands.Command, argv [][]byte) error {
	s := x.s
	x.crowded = s.srv.crowded()
	if err := s.srv.scripts.enter(); err != nil {
		return err
	}
	x.inside, x.began = true, s.turn.elapsed
	if w := &s.srv.blocked; w.Any() {
		w.Widen(&s.shards, s.eachKey)
	}
	s.tx.LockLong(&s.shards, s.ctx.Now)
	s.locked = true
	if err := s.admission.checkAgain(cmd, argv); err != nil {
		s.release()
		return err
	}
	if s.srv.blocked.Any() {
		x.extend(s.eachKey)
	}
	s.beginTx(cmd)
	if x.changed == nil {
		x.changed, x.fits = s.changed, x.mayGrow
	}
	s.tx.OnChange = x.changed // of keys that clients may begin to wait for
	return nil
}

// extend locks the shards that serving the clients that wait for keys can need. The keys
// are locked, so that no others begin to wait for them.
func (x *scripting) extend(keys blocking.EachKey) {
	s := x.s
	w := &s.srv.blocked
	for w.Any() {
		need := s.shards
		if w.Widen(&need, keys); s.shards.Contains(need) {
			return
		}
		s.tx.Extend(&need)
		s.shards = need
	}
}

// reach locks what a command of a script needs.
func (x *scripting) reach(cmd *commands.Command, argv [][]byte) {
	s := x.s
	need := s.shards
	if cmd.Everywhere(argv) {
		need.AddAll()
	}
	s.keys = cmd.AppendKeys(s.keys[:0], argv)
	for _, k := range s.keys {
		need.Add(s.srv.store.Hash(argv[k.Index]))
	}
	if !s.shards.Contains(need) {
		s.tx.Extend(&need)
		s.shards = need
	}
	if s.srv.blocked.Any() && cmd.Is(commands.Write) {
		x.extend(func(visit func(key []byte)) {
			for _, k := range s.keys {
				visit(argv[k.Index])
			}
		})
	}
}

// RunScript runs a script inside the call. Its commands write their replies into a buffer
// that all scripts share.
func (x *scripting) RunScript(c *commands.Ctx, task lua.Task, readOnly bool) error {
	s, flags := x.s, task.Flags()
	slotted := s.srv.slotted()
	if slotted && flags.NoCluster {
		return errScriptNoCluster
	}
	if err := flags.Admit(readOnly, x.crowded, s.admission.unwritable()); err != nil {
		if slotted && err == commands.ErrReadOnlyReplica && s.admission.slot != commands.NoSlot {
			return s.admission.redirect(commands.Write, s.admission.slot)
		}
		return err
	}
	x.show(c)
	x.written, x.bug = false, nil
	x.limits.readOnly = readOnly || flags.Declared && flags.NoWrites
	x.limits.allowOOM = flags.Declared && flags.AllowOOM
	x.limits.crossSlot = !flags.Declared || flags.CrossSlot
	x.cmd, x.argv = c.Command, c.Args.All()
	x.sent = cmp.Or(s.transaction.exec, x.cmd)
	x.memory = s.srv.settings().conf.LuaMemoryLimit
	err := x.run(c, task)
	x.cmd, x.sent, x.argv = nil, nil, nil
	if x.bug != nil {
		panic(x.bug) // the interpreter has made an error of it
	}
	return err
}

// run runs a script with the context of its call, and sets that back.
func (x *scripting) run(c *commands.Ctx, task lua.Task) error {
	s, shared := x.s, &x.s.srv.scripts.reply
	inMulti, cmd, args, db := c.InMulti, c.Command, c.Args, s.DB()
	c.InMulti, c.InScript = true, true
	x.reply, c.Reply = c.Reply, *shared
	c.Reply.Bound(x.fits)
	defer func() {
		c.Reply.Reset(keepBuffer)
		*shared, c.Reply, x.reply = c.Reply, x.reply, commands.Reply{}
		c.InMulti, c.InScript, c.Command, c.Args = inMulti, false, cmd, args
		s.SetDB(db)
		s.tx.Select(db)
	}()
	return s.srv.scripts.engine.Run(&lua.Run{Task: task, Server: (*scriptServer)(x), Reply: &x.reply, Memory: x.memory, Command: x.argv, Began: c.Now})
}

// mayGrow reports whether a reply to a command of the script may have that size.
func (x *scripting) mayGrow(size int) bool { return int64(size) <= x.memory/2 }

// show shows the call to monitors, before the commands that it calls.
func (x *scripting) show(c *commands.Ctx) {
	if x.s.srv.monitors.any() {
		x.s.srv.monitors.show(x.s, c.Args.All(), x.s.turn.at(x.s.turn.elapsed), x.s.address())
	}
}

// scriptServer is what a script calls.
type scriptServer scripting

// Call runs a command of a script. A panic ends the whole call, and not only the script.
func (x *scriptServer) Call(argv [][]byte, proto int) []byte {
	defer func() {
		if bug := recover(); bug != nil {
			x.bug = fmt.Sprintf("%v\n%s", bug, debug.Stack())
			x.s.srv.scripts.engine.Current().End("internal error")
			panic(bug)
		}
	}()
	s := x.s
	reply := &s.ctx.Reply
	reply.Reset(keepBuffer)
	reply.SetProto(proto)
	cmd, sub := s.srv.scripts.lookup(s.srv.table, argv)
	if err := s.scripting.admit(cmd, sub, argv); err != nil {
		s.scripting.refuse(cmd, err)
		return reply.Last()
	}
	start := s.turn.elapsed
	s.scripting.reach(cmd, argv)
	if err := s.admission.checkLocked(cmd, argv); err != nil {
		s.scripting.refuse(cmd, err)
		return reply.Last()
	}
	err := s.invoke(cmd, argv)
	s.tx.Select(s.DB())
	if s.srv.monitors.any() && cmd.Flags&(commands.SkipMonitor|commands.Admin) == 0 {
		s.srv.monitors.show(s, cmd.Shown(argv), s.turn.at(start), "lua")
	}
	s.account(cmd, argv, start, err)
	s.logLarge(cmd, argv, start, 0, int64(reply.Len()))
	switch {
	case reply.Lost():
		s.srv.scripts.engine.Current().End(lua.NoMemory)
		return []byte("-" + lua.NoMemory + "\r\n")
	case reply.Parts() != nil:
		return reply.After(0)
	}
	return reply.Last()
}

// Allowed reports whether the user may run a command.
func (x *scriptServer) Allowed(argv [][]byte) (allowed, known bool) {
	s := x.s
	cmd, sub := s.lookup(argv)
	if cmd == nil || len(cmd.Subcommands()) > 0 && !sub && len(argv) > 1 {
		return false, false
	}
	return s.access.user.Load().Rules().Check(s.DB(), cmd, argv) == nil, true
}

// Log writes a line of a script to the server's log.
func (x *scriptServer) Log(level int, text string) {
	x.s.srv.logf(logLevel(level), "%s", text)
}

// Failed counts an error inside of the reply.
func (x *scriptServer) Failed(err commands.WireError) { x.s.srv.stats.countError(string(err)) }

// admit decides whether a script may call a command.
func (x *scripting) admit(cmd *commands.Command, sub bool, argv [][]byte) error {
	s := x.s
	writes := false
	if cmd != nil {
		writes = cmd.Is(commands.Write)
	}
	switch {
	case cmd == nil:
		return errScriptUnknown
	case len(cmd.Subcommands()) > 0 && !sub && len(argv) > 1:
		return errScriptUnknown
	case len(cmd.Subcommands()) > 0 && !sub && cmd.Run == nil, !cmd.ArityOK(len(argv)):
		return errScriptArity
	case cmd.Is(commands.NoScript) && !(s.srv.scripts.debug.Load() && harmless(cmd)):
		return errScriptDenied
	}
	if err := s.access.permit(cmd, argv, acl.InScript); err != nil {
		return err
	}
	if x.limits.readOnly && cmd.Flags&(commands.Write|commands.MayReplicate) != 0 {
		return errScriptReadOnly
	}
	if err := admitKeys(cmd, argv); err != nil {
		return err
	}
	if writes && !x.written {
		if err := s.admission.unwritable(); err != nil {
			return err
		}
	}
	switch {
	case cmd.Is(commands.DenyOOM) && !x.written && x.crowded && !x.limits.allowOOM:
		return commands.ErrOOM
	case cmd.Is(commands.DenyOOM) && s.tx.RecordBytes() > maxTransaction:
		return commands.ErrQueueTooLong
	}
	if s.srv.slotted() {
		if err := x.admitSlots(cmd, argv); err != nil {
			return err
		}
	}
	if writes {
		x.written = true
		s.srv.scripts.engine.Wrote()
	}
	return nil
}

// harmless reports whether a script may call a command of DEBUG once that is allowed: it
// uses no key.
func harmless(cmd *commands.Command) bool {
	const touches = commands.Write | commands.ReadOnly | commands.NoMulti
	return cmd.Is(commands.Protected) && cmd.Flags&touches == 0
}

// refuse writes the error of a call of a script that did not run.
func (x *scripting) refuse(cmd *commands.Command, err error) {
	text, _ := commands.Text(err)
	x.s.srv.stats.rejected(cmd)
	x.s.srv.stats.countError(string(text))
	x.s.ctx.Reply.Error(text)
}
