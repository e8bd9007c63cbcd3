package admin

import (
	"math"
	"strings"

	"github.com/vigildb/vigil/commands"
)

// Imports makes keys of the files of other servers.
type Imports interface {
	// BeginImport begins an import in the background.
	BeginImport(o Import) error
	// ImportStatus describes the import under way, or the last one.
	ImportStatus() Transfer
	// StopImport ends the import under way, and reports whether there was one.
	StopImport() bool
}

// Exports writes keys for other servers.
type Exports interface {
	// BeginExport begins an export in the background.
	BeginExport(o Export) error
	// ExportStatus describes the export under way, or the last one.
	ExportStatus() Transfer
	// StopExport ends the export under way, and reports whether there was one.
	StopExport() bool
}

// Export is what an export is to do.
type Export struct {
	Path    string // in the directory import-dir
	For     string // the server that is to read it
	Modules bool   // it has RedisBloom and RedisJSON
	Strict  bool   // what it has no form for is an error
}

// Import is what an import is to do.
type Import struct {
	Path        string // in the directory import-dir
	OnConflict  string // FAIL, SKIP, REPLACE or REPLACE-ALL
	Only        []int  // databases; none: all
	Until       int64  // unix s; 0: all
	SkipUnknown bool
	Whole       bool
}

// Transfer is how far an import or export is.
type Transfer struct {
	State   string // "none", "running", "done", "failed"
	Path    string
	Keys    int64
	Bytes   int64 // read or written
	Total   int64 // to be read; -1 if it is not known
	Seconds float64
	Error   string
	Lines   []string // the summary
}

func transferRows() []commands.Command {
	const change = commands.Admin | commands.Dangerous | commands.NoScript | commands.NoMulti | commands.NoAsyncLoading
	return []commands.Command{
		{Name: "VIGIL.IMPORT", Arity: -2, Since: "0.2.0", Cost: "Depends on the subcommand.", Summary: "Groups the commands about imports."},
		{Name: "VIGIL.IMPORT PATH", Arity: -3, Flags: change, Databases: commands.AllDatabases,
			Syntax: "file [ON-CONFLICT FAIL | SKIP | REPLACE | REPLACE-ALL] [ONLY db] [UNTIL unix-time-seconds] [WHOLE] [SKIP-UNKNOWN]",
			Since:  "0.2.0", Cost: "O(n) for n bytes of the files, in the background",
			Summary: "Begins to make keys of an RDB file, an append-only file or a directory of these in import-dir.", Run: importPath},
		{Name: "VIGIL.IMPORT STATUS", Arity: 2, Flags: commands.Admin | commands.NoScript | commands.Stale, Since: "0.2.0", Cost: "O(1)",
			Summary: "Returns how far the import is, or how the last one ended.", Run: importStatus},
		{Name: "VIGIL.IMPORT STOP", Arity: 2, Flags: change, Since: "0.2.0", Cost: "O(1)",
			Summary: "Ends the import under way, and removes what it has read.", Run: importStop},
		commands.Help("VIGIL.IMPORT", "0.2.0", commands.Admin|commands.NoScript|commands.Loading|commands.Stale),
		{Name: "VIGIL.EXPORT", Arity: -2, Since: "0.2.0", Cost: "Depends on the subcommand.", Summary: "Groups the commands about exports."},
		{Name: "VIGIL.EXPORT PATH", Arity: -5, Flags: change, Databases: commands.AllDatabases, Syntax: "file FOR target [MODULES] [STRICT]",
			Since: "0.2.0", Cost: "O(n) for n bytes of keys and values, in the background",
			Summary: "Begins to write an RDB file in import-dir, for redis7.0, redis7.4, valkey8 or valkey9.", Run: exportPath},
		{Name: "VIGIL.EXPORT STATUS", Arity: 2, Flags: commands.Admin | commands.NoScript | commands.Stale, Since: "0.2.0", Cost: "O(1)",
			Summary: "Returns how far the export is, or how the last one ended.", Run: exportStatus},
		{Name: "VIGIL.EXPORT STOP", Arity: 2, Flags: change, Since: "0.2.0", Cost: "O(1)",
			Summary: "Ends the export under way, and removes its file.", Run: exportStop},
		commands.Help("VIGIL.EXPORT", "0.2.0", commands.Admin|commands.NoScript|commands.Loading|commands.Stale),
	}
}

func importPath(c *commands.Ctx) error {
	o := Import{Path: c.Args.String(), OnConflict: "FAIL"}
	for c.Args.More() {
		switch c.Args.Word() {
		case "ON-CONFLICT":
			switch o.OnConflict = c.Args.Word(); o.OnConflict {
			case "FAIL", "SKIP", "REPLACE", "REPLACE-ALL":
			default:
				c.Args.Syntax()
			}
		case "ONLY":
			o.Only = append(o.Only, int(c.Args.IntIn(0, math.MaxInt32, commands.ErrDBIndex)))
		case "UNTIL":
			o.Until = c.Args.IntIn(1, math.MaxInt64, commands.ErrNotInteger)
		case "WHOLE":
			o.Whole = true
		case "SKIP-UNKNOWN":
			o.SkipUnknown = true
		default:
			c.Args.Syntax()
		}
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	if err := c.Host.(Imports).BeginImport(o); err != nil {
		return err
	}
	c.Reply.OK()
	return nil
}

func importStatus(c *commands.Ctx) error {
	replyTransfer(&c.Reply, c.Host.(Imports).ImportStatus())
	return nil
}

func replyTransfer(r *commands.Reply, t Transfer) {
	text := func(name, value string) {
		r.BulkString(name)
		r.BulkString(value)
	}
	number := func(name string, n int64) {
		r.BulkString(name)
		r.Int(n)
	}
	r.Map(8)
	text("state", t.State)
	text("path", t.Path)
	number("keys", t.Keys)
	number("bytes", t.Bytes)
	number("total", t.Total)
	number("milliseconds", int64(1000*t.Seconds))
	text("error", t.Error)
	r.BulkString("summary")
	r.Strings(t.Lines)
}

func importStop(c *commands.Ctx) error {
	if !c.Host.(Imports).StopImport() {
		return errNoImport
	}
	c.Reply.OK()
	return nil
}

func exportPath(c *commands.Ctx) error {
	o := Export{Path: c.Args.String()}
	for c.Args.More() {
		switch c.Args.Word() {
		case "FOR":
			o.For = strings.ToLower(c.Args.String())
		case "MODULES":
			o.Modules = true
		case "STRICT":
			o.Strict = true
		default:
			c.Args.Syntax()
		}
	}
	if err := c.Args.Done(); err != nil {
		return err
	}
	if err := c.Host.(Exports).BeginExport(o); err != nil {
		return err
	}
	c.Reply.OK()
	return nil
}

func exportStatus(c *commands.Ctx) error {
	replyTransfer(&c.Reply, c.Host.(Exports).ExportStatus())
	return nil
}

func exportStop(c *commands.Ctx) error {
	if !c.Host.(Exports).StopExport() {
		return errNoExport
	}
	c.Reply.OK()
	return nil
}
