package script

import (
	"errors"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/script/lua"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/glob"
	"github.com/vigildb/vigil/structures/rdb"
)

// engineName is what FUNCTION LIST and STATS call the engine.
const engineName = "LUA"

func functionRows() []commands.Command {
	const (
		change  = commands.NoScript | commands.Write | commands.RunsScripts
		read    = commands.NoScript
		all     = "request_policy:all_shards response_policy:all_succeeded"
		perByte = "O(n) for n bytes of libraries"
	)
	return []commands.Command{
		{Name: "FUNCTION", Arity: -2, Since: "7.0.0", Cost: "Depends on the subcommand.", Summary: "A container for commands about functions."},
		{Name: "FUNCTION LOAD", Arity: -3, Tips: all, Flags: change | commands.DenyOOM, Syntax: "[REPLACE] function-code", Since: "7.0.0", Cost: "O(n) for n bytes of source",
			Summary: "Creates a library, which registers its functions.", Run: functionLoad},
		{Name: "FUNCTION DELETE", Arity: 3, Tips: all, Flags: change, Syntax: "library-name", Since: "7.0.0", Cost: "O(n) for n functions",
			Summary: "Deletes a library and its functions.", Run: functionDelete},
		{Name: "FUNCTION FLUSH", Arity: -2, Tips: all, Flags: change, Syntax: "[ASYNC | SYNC]", Since: "7.0.0", Cost: "O(n) for n libraries",
			Summary: "Deletes all libraries.", Run: functionFlush},
		{Name: "FUNCTION LIST", Arity: -2, Tips: "nondeterministic_output_order", Flags: read | commands.LocksKeys | commands.Keyspace, Syntax: "[LIBRARYNAME library-name-pattern] [WITHCODE]", Since: "7.0.0", Cost: "O(n) for n functions",
			Summary: "Returns the libraries and their functions.", Run: functionList},
		{Name: "FUNCTION STATS", Arity: 2, Tips: "nondeterministic_output request_policy:all_shards response_policy:special", Flags: read | commands.AllowBusy, Since: "7.0.0", Cost: "O(1)",
			Summary: "Returns the function that runs, and the number of libraries and functions.", Run: functionStats},
		{Name: "FUNCTION KILL", Arity: 2, Tips: "request_policy:all_shards response_policy:one_succeeded", Flags: read | commands.AllowBusy, Since: "7.0.0", Cost: "O(1)",
			Summary: "Ends the running function, unless it has written.", Run: functionKill},
		{Name: "FUNCTION DUMP", Arity: 2, Flags: read | commands.LocksKeys | commands.Keyspace, Since: "7.0.0", Cost: perByte,
			Summary: "Returns all libraries in the serialized form that FUNCTION RESTORE takes, here and in Redis.", Run: functionDump},
		{Name: "FUNCTION RESTORE", Arity: -3, Tips: all, Flags: change | commands.DenyOOM, Syntax: "serialized-value [FLUSH | APPEND | REPLACE]", Since: "7.0.0", Cost: perByte,
			Summary: "Creates libraries from the output of FUNCTION DUMP, made here or by Redis.", Run: functionRestore},
		commands.Help("FUNCTION", "7.0.0", commands.Loading|commands.Stale),
	}
}

func fcall(c *commands.Ctx, readOnly bool) error {
	h := c.Host.(Runner)
	f := h.Engine().Libraries().Function(c.Args.Bytes())
	if f == nil {
		return lua.ErrNoFunction
	}
	keys, args, err := numbered(&c.Args, errKeysBad)
	if err != nil {
		return err
	}
	return h.RunScript(c, lua.Task{Function: f, Keys: keys, Args: args}, readOnly)
}

func functionLoad(c *commands.Ctx) error {
	replace := false
	for c.Args.Left() > 1 {
		if !c.Args.Is("REPLACE") {
			return commands.Errorf("ERR Unknown option given: %.128s", c.Args.Bytes())
		}
		replace = true
	}
	h, code, name := c.Host.(Runner), c.Args.String(), ""
	err := h.ChangeLibraries(func(now *lua.Libraries, memory int64) (next *lua.Libraries, err error) {
		next = now.Clone()
		name, err = h.Engine().AddLibrary(next, code, replace, memory)
		return next, err
	})
	if err != nil {
		return err
	}
	c.Reply.BulkString(name)
	return nil
}

func functionDelete(c *commands.Ctx) error {
	name := c.Args.String()
	err := c.Host.(Runner).ChangeLibraries(func(now *lua.Libraries, _ int64) (*lua.Libraries, error) {
		next := now.Clone()
		if !next.Remove(name) {
			return nil, errNoLibrary
		}
		return next, nil
	})
	if err == nil {
		c.Reply.OK()
	}
	return err
}

func functionFlush(c *commands.Ctx) error {
	if c.Args.Left() > 1 {
		return commands.ErrSubcommandArity(c)
	}
	if err := flushOption(&c.Args, errFlushLibraries); err != nil {
		return err
	}
	err := c.Host.(Runner).ChangeLibraries(func(*lua.Libraries, int64) (*lua.Libraries, error) {
		return lua.NewLibraries(), nil
	})
	if err == nil {
		c.Host.(Runner).Engine().RenewFunctions()
		c.Reply.OK()
	}
	return err
}

func functionRestore(c *commands.Ctx) error {
	payload := c.Args.Bytes()
	if c.Args.Left() > 1 {
		return commands.ErrSubcommandArity(c)
	}
	policy := "APPEND"
	if c.Args.More() {
		policy = c.Args.Word()
	}
	if policy != "APPEND" && policy != "REPLACE" && policy != "FLUSH" {
		return errPolicy
	}
	h := c.Host.(Runner)
	err := h.ChangeLibraries(func(now *lua.Libraries, memory int64) (*lua.Libraries, error) {
		restored := lua.NewLibraries()
		err := rdb.EachLibrary(payload, lua.MaxSource, func(source string) error {
			_, err := h.Engine().AddLibrary(restored, source, false, memory)
			return err
		})
		if err != nil || policy == "FLUSH" {
			return restored, payloadError(err)
		}
		next := now.Clone()
		return next, next.Join(restored, policy == "REPLACE")
	})
	if err == nil {
		c.Reply.OK()
	}
	return err
}

// payloadError is what the client gets for an error of a payload.
func payloadError(err error) error {
	switch {
	case errors.Is(err, rdb.ErrFrame):
		return errPayload
	case errors.Is(err, rdb.ErrNoFunction):
		return errPayloadType
	case errors.Is(err, rdb.ErrFunctionForm):
		return errPayloadForm
	case errors.Is(err, structures.ErrCorrupt):
		return errPayloadLibrary
	}
	return err
}

func functionDump(c *commands.Ctx) error {
	var sources []string
	for _, lib := range c.Host.(Runner).Engine().Libraries().Sorted() {
		sources = append(sources, lib.Code)
	}
	c.Reply.Bulk(rdb.AppendLibraries(nil, sources))
	return nil
}

func functionList(c *commands.Ctx) error {
	var pattern []byte
	code := false
	for c.Args.More() {
		switch {
		case !code && c.Args.Is("WITHCODE"):
			code = true
		case pattern == nil && c.Args.Is("LIBRARYNAME"):
			if !c.Args.More() {
				return errNoPattern
			}
			pattern = c.Args.Bytes()
		default:
			return commands.Errorf("ERR Unknown argument %.128s", c.Args.Bytes())
		}
	}
	var list []*lua.Library
	for _, lib := range c.Host.(Runner).Engine().Libraries().Sorted() {
		if pattern == nil || glob.MatchFold(pattern, []byte(lib.Name)) {
			list = append(list, lib)
		}
	}
	c.Reply.Array(len(list))
	for _, lib := range list {
		writeLibrary(&c.Reply, lib, code)
	}
	return nil
}

func writeLibrary(reply *commands.Reply, lib *lua.Library, code bool) {
	fields := 3
	if code {
		fields = 4
	}
	reply.Map(fields)
	reply.BulkString("library_name")
	reply.BulkString(lib.Name)
	reply.BulkString("engine")
	reply.BulkString(engineName)
	reply.BulkString("functions")
	reply.Array(len(lib.Functions))
	for _, f := range lib.Functions {
		reply.Map(3)
		reply.BulkString("name")
		reply.BulkString(f.Name)
		reply.BulkString("description")
		if f.Description == nil {
			reply.Null()
		} else {
			reply.BulkString(*f.Description)
		}
		reply.BulkString("flags")
		reply.Statuses(f.Names())
	}
	if code {
		reply.BulkString("library_code")
		reply.BulkString(lib.Code)
	}
}

func functionStats(c *commands.Ctx) (err error) {
	reply, h := &c.Reply, c.Host.(Runner)
	h.ShowRunning(func(r *lua.Run) { err = writeRunning(reply, r, c.Now) })
	if err != nil {
		return err
	}
	libraries, functions := h.Engine().Libraries().Len()
	reply.BulkString("engines")
	reply.Map(1)
	reply.BulkString(engineName)
	reply.Map(2)
	reply.BulkString("libraries_count")
	reply.Int(int64(libraries))
	reply.BulkString("functions_count")
	reply.Int(int64(functions))
	return nil
}

// writeRunning writes what runs: a function, with its call, or nothing. now is in unix ms.
func writeRunning(reply *commands.Reply, r *lua.Run, now int64) error {
	reply.Map(2)
	reply.BulkString("running_script")
	if r == nil {
		reply.Null()
		return nil
	}
	name, ok := r.Name()
	if !ok {
		return lua.ErrBusyScript
	}
	reply.Map(3)
	reply.BulkString("name")
	reply.BulkString(name)
	reply.BulkString("command")
	reply.Array(len(r.Command))
	for _, arg := range r.Command {
		reply.Bulk(arg)
	}
	reply.BulkString("duration_ms")
	reply.Int(max(0, now-r.Began))
	return nil
}

func functionKill(c *commands.Ctx) error {
	if err := c.Host.(Runner).KillScript(true); err != nil {
		return err
	}
	c.Reply.OK()
	return nil
}
