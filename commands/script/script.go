package script

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/script/lua"
)

// Runner is what the server gives to scripts.
type Runner interface {
	// Engine returns the engine of the server.
	Engine() *lua.Engine
	// RunScript runs a script or a function in the transaction of the call. The error is
	// the reply, or the reason why scripts with these flags may not run now.
	RunScript(c *commands.Ctx, task lua.Task, readOnly bool) error
	// KillScript ends the script that runs.
	KillScript(function bool) error
	// ChangeLibraries puts what change returns in the place of the libraries, durably
	// and inside the gate of scripts. memory is how much a library may use.
	ChangeLibraries(change func(now *lua.Libraries, memory int64) (*lua.Libraries, error)) error
	// ShowRunning calls show with the script that runs, which does not end meanwhile, or
	// with nil.
	ShowRunning(show func(*lua.Run))
}

// Group is the commands of scripts.
func Group() commands.Group {
	const (
		run    = commands.NoScript | commands.SkipMonitor | commands.NoMandatoryKeys | commands.Stale | commands.MovableKeys | commands.RunsScripts
		writes = run | commands.MayReplicate | commands.LocksKeys
		reads  = run | commands.ReadOnly
		cost   = "Depends on the script that is executed."
		manage = commands.NoScript
	)
	keys := func(f commands.KeyFlag) []commands.KeySpec { return []commands.KeySpec{commands.KeyCount(2, f)} }
	update := keys(commands.RW | commands.Access | commands.Update)
	read := keys(commands.RO | commands.Access)
	return commands.Group{Name: "scripting", Commands: append([]commands.Command{
		{Name: "EVAL", Arity: -3, Flags: writes, Keys: update, Syntax: "script numkeys [key [key ...]] [arg [arg ...]]", Since: "2.6.0", Cost: cost,
			Summary: "Runs a Lua script.", Run: func(c *commands.Ctx) error { return eval(c, false) }},
		{Name: "EVALSHA", Arity: -3, Flags: writes, Keys: update, Syntax: "sha1 numkeys [key [key ...]] [arg [arg ...]]", Since: "2.6.0", Cost: cost,
			Summary: "Runs a Lua script that was sent before.", Run: func(c *commands.Ctx) error { return evalSHA(c, false) }},
		{Name: "EVAL_RO", Arity: -3, Flags: reads, Keys: read, Syntax: "script numkeys [key [key ...]] [arg [arg ...]]", Since: "7.0.0", Cost: cost,
			Summary: "Runs a Lua script that does not write.", Run: func(c *commands.Ctx) error { return eval(c, true) }},
		{Name: "EVALSHA_RO", Arity: -3, Flags: reads, Keys: read, Syntax: "sha1 numkeys [key [key ...]] [arg [arg ...]]", Since: "7.0.0", Cost: cost,
			Summary: "Runs a Lua script that does not write and that was sent before.", Run: func(c *commands.Ctx) error { return evalSHA(c, true) }},
		{Name: "FCALL", Arity: -3, Flags: writes | commands.LeaderOnly, Keys: update, Syntax: "function numkeys [key [key ...]] [arg [arg ...]]", Since: "7.0.0", Cost: "Depends on the function that is executed.",
			Summary: "Runs a function.", Run: func(c *commands.Ctx) error { return fcall(c, false) }},
		{Name: "FCALL_RO", Arity: -3, Flags: reads | commands.LeaderOnly, Keys: read, Syntax: "function numkeys [key [key ...]] [arg [arg ...]]", Since: "7.0.0", Cost: "Depends on the function that is executed.",
			Summary: "Runs a function that does not write.", Run: func(c *commands.Ctx) error { return fcall(c, true) }},
		{Name: "SCRIPT", Arity: -2, Since: "2.6.0", Cost: "Depends on the subcommand.", Summary: "A container for commands about scripts."},
		{Name: "SCRIPT LOAD", Arity: 3, Tips: "request_policy:all_nodes response_policy:all_succeeded", Flags: manage | commands.Stale, Syntax: "script", Since: "2.6.0", Cost: "O(n) for n bytes of script",
			Summary: "Keeps a script for EVALSHA without running it.", Run: load},
		{Name: "SCRIPT EXISTS", Arity: -3, Tips: "request_policy:all_shards response_policy:agg_logical_and", Flags: manage, Syntax: "sha1 [sha1 ...]", Since: "2.6.0", Cost: "O(1) for each script",
			Summary: "Tells which scripts EVALSHA would find.", Run: exists},
		{Name: "SCRIPT FLUSH", Arity: -2, Tips: "request_policy:all_nodes response_policy:all_succeeded", Flags: manage, Syntax: "[ASYNC | SYNC]", Since: "2.6.0", Cost: "O(n) for n scripts",
			Summary: "Forgets all scripts.", Run: flush},
		{Name: "SCRIPT KILL", Arity: 2, Tips: "request_policy:all_shards response_policy:one_succeeded", Flags: manage | commands.AllowBusy, Since: "2.6.0", Cost: "O(1)",
			Summary: "Ends the running script, unless it has written.", Run: kill},
		{Name: "SCRIPT DEBUG", Arity: 3, Flags: manage, Syntax: "YES | SYNC | NO", Since: "3.2.0", Cost: "O(1)",
			Summary: "Turns the debugger of scripts off; there is none.", Run: debug},
		{Name: "SCRIPT SHOW", Arity: 3, Flags: manage | commands.Stale, Syntax: "sha1", Since: "8.0.0", Cost: "O(1)",
			Summary: "Returns the source of a script that EVALSHA would find.", Run: showScript},
		commands.Help("SCRIPT", "5.0.0", commands.Loading|commands.Stale),
	}, functionRows()...)}
}

// numbered reads the number of keys, the keys and the arguments.
func numbered(a *commands.Args, bad error) (keys, args [][]byte, err error) {
	n := a.IntOr(bad)
	if err := a.Err(); err != nil {
		return nil, nil, err
	}
	if n > int64(a.Left()) {
		return nil, nil, errKeysTooMany
	}
	if n < 0 {
		return nil, nil, errKeysNegative
	}
	keys = a.Take(int(n))
	return keys, a.Rest(), nil
}

func eval(c *commands.Ctx, readOnly bool) error {
	source := c.Args.Bytes()
	keys, args, err := numbered(&c.Args, commands.ErrNotInteger)
	if err != nil {
		return err
	}
	s, err := c.Host.(Runner).Engine().Evaluate(source)
	if err != nil {
		return err
	}
	return run(c, s, keys, args, readOnly)
}

func evalSHA(c *commands.Ctx, readOnly bool) error {
	digest, ok := lua.ParseDigest(c.Args.Bytes())
	if !ok {
		return errNoScript
	}
	keys, args, err := numbered(&c.Args, commands.ErrNotInteger)
	if err != nil {
		return err
	}
	s := c.Host.(Runner).Engine().Find(digest)
	if s == nil {
		return errNoScript
	}
	return run(c, s, keys, args, readOnly)
}

func run(c *commands.Ctx, s *lua.Script, keys, args [][]byte, readOnly bool) error {
	return c.Host.(Runner).RunScript(c, lua.Task{Script: s, Keys: keys, Args: args}, readOnly)
}

func load(c *commands.Ctx) error {
	digest, err := c.Host.(Runner).Engine().Load(c.Args.Bytes())
	if err != nil {
		return err
	}
	c.Reply.BulkString(digest.String())
	return nil
}

func exists(c *commands.Ctx) error {
	digests := c.Args.Rest()
	c.Reply.Array(len(digests))
	for _, text := range digests {
		d, ok := lua.ParseDigest(text)
		c.Reply.IntBool(ok && c.Host.(Runner).Engine().Find(d) != nil)
	}
	return nil
}

func showScript(c *commands.Ctx) error {
	d, ok := lua.ParseDigest(c.Args.Bytes())
	var s *lua.Script
	if ok {
		s = c.Host.(Runner).Engine().Find(d)
	}
	if s == nil {
		return errNoSuchScript
	}
	c.Reply.BulkString(s.Source())
	return nil
}

// flushOption reads SYNC or ASYNC, which make no difference.
func flushOption(a *commands.Args, bad error) error {
	if a.More() && !a.Is("SYNC") && !a.Is("ASYNC") || a.More() {
		return bad
	}
	return nil
}

func flush(c *commands.Ctx) error {
	if err := flushOption(&c.Args, errFlushOption); err != nil {
		return err
	}
	c.Host.(Runner).Engine().Flush()
	c.Reply.OK()
	return nil
}

func kill(c *commands.Ctx) error {
	if err := c.Host.(Runner).KillScript(false); err != nil {
		return err
	}
	c.Reply.OK()
	return nil
}

func debug(c *commands.Ctx) error {
	switch c.Args.Word() {
	case "NO":
		c.Reply.OK()
		return nil
	case "YES", "SYNC":
		return errNoDebugger
	}
	return errDebugMode
}
