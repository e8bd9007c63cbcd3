package conf

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/groups"
	"github.com/vigildb/vigil/server/resp"
)

const (
	maxDepth    = 16       // files that include each other
	maxFileSize = 16 << 20 // bytes; no configuration is longer, but a device may be
	commandLine = "the command line"
)

// LoadError is a mistake in a file or on the command line.
type LoadError struct {
	File   string // as it was named; "standard input" or "the command line" for these
	Line   int    // from 1; 0 if the file could not be read
	Text   string // the line
	Reason string
	// LogFile is the file to which the mistake is to be logged beside the standard error, if one can be
	// found in what was read; "" is none.
	LogFile string
}

// Error is one line.
func (e *LoadError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Reason)
	}
	return fmt.Sprintf("%s, line %d: '%s': %s", e.File, e.Line, e.Text, e.Reason)
}

// Report is what is printed before the process ends, in the form that people
// and scripts know from Redis.
func (e *LoadError) Report() string {
	if e.Line == 0 {
		return fmt.Sprintf("\nFatal error, can't open config file '%s': %s\n", e.File, e.Reason)
	}
	return fmt.Sprintf("\n*** FATAL CONFIG FILE ERROR (vigil) ***\nReading the configuration file, at line %d of %s\n>>> '%s'\n%s\n",
		e.Line, e.File, e.Text, e.Reason)
}

// because completes the mistake. A line that is no text, as of a binary file, is
// shown in part and in a form that a terminal bears.
func (e *LoadError) because(err error) *LoadError {
	const most = 200 // bytes
	if len(e.Text) > most {
		e.Text = e.Text[:most] + "..."
	}
	if strings.ContainsFunc(e.Text, func(r rune) bool { return r != '\t' && !unicode.IsPrint(r) || r == utf8.RuneError }) {
		e.Text = strconv.QuoteToASCII(e.Text)
	}
	e.Reason = err.Error()
	return e
}

// hideSecrets removes everything but the name of a directive whose value is
// secret.
func (e *LoadError) hideSecrets(c *Config) {
	end := strings.IndexAny(e.Text, " \t")
	if end < 0 {
		return
	}
	if name := strings.Trim(strings.ToLower(e.Text[:end]), `"'`); c.Sensitive(name) || name == "user" {
		e.Text = e.Text[:end] + " (redacted)"
	}
}

// Load makes a Config from the arguments of the program, its name left out, in
// the way of redis-server:
//
//   - a first argument without a dash is the configuration file;
//   - "-" as the first or the last argument reads standard input as well;
//   - "--name value ..." sets a directive, one to several words each.
//
// File, standard input and options are read in this order, and what comes
// later wins; "save" lines add up. Errors are *LoadError.
func Load(args []string, stdin io.Reader) (*Config, error) {
	var in sources
	in.file, in.piped, in.options = splitArgs(args)
	c := New()
	l := newLoader(c)
	in.stdin = stdin
	err := in.read(l)
	if err == nil {
		err = l.finish()
	}
	var bad *LoadError
	if errors.As(err, &bad) {
		bad.LogFile = in.logFile()
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Add reads more lines behind what was loaded, with the same rules. It is for whoever makes a server, before
// that has the Config. source is how errors, which are *LoadError, name the lines. A mistake changes nothing.
func (c *Config) Add(source string, lines ...string) error {
	if len(lines) == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	values, users, renames, warnings := slices.Clone(c.mu.values), len(c.mu.users), len(c.mu.renames), len(c.warnings)
	l := newLoader(c)
	err := l.each(source, lines, 0)
	if err == nil {
		err = l.finish()
	}
	if err != nil {
		c.mu.values, c.mu.users, c.mu.renames, c.warnings = values, c.mu.users[:users], c.mu.renames[:renames], c.warnings[:warnings]
	}
	return err
}

// sources are what a configuration is read from, in this order.
type sources struct {
	file    string // "" for none
	piped   bool   // stdin counts
	stdin   io.Reader
	text    []byte // that stdin had
	options string
}

func (in *sources) read(l *loader) error {
	if in.file != "" {
		path, err := filepath.Abs(in.file)
		if err != nil {
			return &LoadError{File: in.file, Reason: err.Error()}
		}
		l.c.file = path
		if err := l.file(path, 0); err != nil && !l.lenient {
			return err
		}
	}
	if in.piped && !l.lenient {
		text, err := io.ReadAll(io.LimitReader(in.stdin, maxFileSize))
		if err != nil {
			return &LoadError{File: "standard input", Reason: err.Error()}
		}
		in.text = text
	}
	if err := l.text("standard input", in.text, 0); err != nil {
		return err
	}
	return l.text(commandLine, []byte(in.options), 0)
}

// logFile returns the last logfile of a configuration with mistakes, before them or behind.
func (in *sources) logFile() string {
	l := newLoader(New())
	l.lenient = true
	_ = in.read(l) // mistakes are passed over
	return l.c.mu.values[l.c.index["logfile"]].text
}

// ReadFile reads a file of at most 16 MiB. The text of an error is the system's.
func ReadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, systemText(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if err != nil {
		return nil, systemText(err)
	}
	if len(text) > maxFileSize {
		return nil, fmt.Errorf("longer than %d bytes", maxFileSize)
	}
	return text, nil
}

// splitArgs turns the options into lines of a file. Redis's rules for a word
// with two dashes: it begins an option, except as the first word behind one,
// which needs a value. "--save" is the exception to that: without a value it
// means "".
func splitArgs(args []string) (file string, fromStdin bool, options string) {
	var b strings.Builder
	wantsValue := false
	for i, arg := range args {
		last := i == len(args)-1
		switch {
		case i == 0 && !strings.HasPrefix(arg, "-"):
			file = arg
		case arg == "-" && (i == 0 || last):
			fromStdin = true
		case strings.HasPrefix(arg, "--") && !wantsValue:
			b.WriteString("\n" + arg[2:])
			wantsValue = len(strings.Fields(arg)) == 1
			if strings.EqualFold(strings.TrimSpace(arg), "--save") && (last || strings.HasPrefix(args[i+1], "--")) {
				b.WriteString(` ""`)
				wantsValue = false
			}
		default:
			b.WriteString(" " + quote(arg))
			wantsValue = false
		}
	}
	return file, fromStdin, strings.TrimPrefix(b.String(), "\n")
}

// loader reads text into a Config that is not shared yet.
type loader struct {
	c    *Config
	read func(path string) ([]byte, error)
	glob func(pattern string) ([]string, error)
	seen map[int]bool // rows that were set
	// at is where each row was set last, for what can be judged only at the end.
	at map[int]*LoadError
	// lenient reads only the lines of a logfile and of includes, and passes over mistakes.
	lenient bool
	files   int // that were read
	// table tries out the renamed commands; nil until there is one.
	table *commands.Table
}

func newLoader(c *Config) *loader {
	l := &loader{c: c, read: ReadFile, glob: filepath.Glob, seen: make(map[int]bool), at: make(map[int]*LoadError)}
	maps.Copy(l.seen, c.seen)
	return l
}

// finish derives the settings and the warnings. It refuses what is absent by
// the last value of each directive, so that a later line can take it back.
func (l *loader) finish() error {
	c := l.c
	for i := range c.rows {
		r, v := &c.rows[i], c.mu.values[i]
		at := l.at[i]
		if at == nil {
			continue // it has its default, or was read before
		}
		if err := r.refusal(v); err != nil {
			return at.because(err)
		}
		if r.effect == inert && v.text != r.def {
			l.ignored(r.name)
		}
	}
	c.seen = l.seen
	c.throwAway = l.said("save", "") && l.said("appendonly", "no")
	c.settings.Store(c.buildLocked())
	return nil
}

// said reports whether a directive was set explicitly, with this as its last
// value.
func (l *loader) said(name, text string) bool {
	row := l.c.index[name]
	return l.seen[row] && l.c.mu.values[row].text == text
}

// maxLenient is how many files are read leniently: some may include each other.
const maxLenient = 100

func (l *loader) file(path string, depth int) error {
	if l.files++; l.lenient && l.files > maxLenient {
		return nil
	}
	text, err := l.read(path)
	if err != nil {
		return &LoadError{File: path, Reason: err.Error()}
	}
	return l.text(path, text, depth)
}

// text reads lines: blank, comments, or a name and words.
func (l *loader) text(source string, text []byte, depth int) error {
	return l.each(source, strings.Split(string(text), "\n"), depth)
}

// each reads lines.
func (l *loader) each(source string, lines []string, depth int) error {
	for number, line := range lines {
		trimmed := strings.Trim(line, " \t\r\n")
		if trimmed == "" || trimmed[0] == '#' {
			continue
		}
		at := &LoadError{File: source, Line: number + 1, Text: trimmed}
		if l.lenient {
			if words := strings.Fields(strings.ToLower(trimmed)); words[0] == "logfile" || words[0] == "include" {
				_ = l.line(at, depth)
			}
			continue
		}
		err := l.line(at, depth)
		var inner *LoadError
		if errors.As(err, &inner) {
			return inner // from an included file
		}
		if err != nil {
			return at.because(err)
		}
	}
	return nil
}

// line reads the line of a place. Values of secrets are removed from the place,
// which is printed if the line is wrong.
func (l *loader) line(at *LoadError, depth int) error {
	words, ok := splitWords(at.Text)
	at.hideSecrets(l.c)
	if !ok {
		return errors.New("Unbalanced quotes in configuration line")
	}
	if len(words) == 0 {
		return nil
	}
	name, words := strings.ToLower(words[0]), words[1:]
	if row, ok := l.c.index[name]; ok {
		l.at[row] = at
		return l.assign(row, words)
	}
	return l.special(at, name, words, depth)
}

// assign sets a directive of the table.
func (l *loader) assign(row int, words []string) error {
	r := &l.c.rows[row]
	if r.kind.many && len(words) == 1 && words[0] != "" {
		// The whole value in quotes, as one word of a command line.
		split, ok := splitWords(words[0])
		if !ok {
			return errors.New("Unbalanced quotes in configuration line")
		}
		words = split
	}
	v, err := r.kind.parse(l.c.mu.values[row], words, l.seen[row])
	if err != nil {
		return err
	}
	l.c.mu.values[row] = v
	l.seen[row] = true
	return nil
}

// special does the lines that are not directives of the table.
func (l *loader) special(at *LoadError, name string, words []string, depth int) error {
	switch {
	case name == "include" && len(words) == 1:
		return l.include(words[0], depth+1)
	case name == "rename-command" && len(words) == 2:
		return l.rename(words[0], words[1])
	case name == "user" && len(words) >= 1:
		l.c.mu.users = append(l.c.mu.users, UserLine{Words: words, at: at})
	case name == "loadmodule" && len(words) >= 1:
		return errors.New(noModules)
	case name == "list-max-ziplist-entries" || name == "list-max-ziplist-value" || name == "lua-replicate-commands":
		if len(words) != 1 {
			return badDirective(l.c, name)
		}
		l.ignored(name)
	case strings.Contains(name, "."): // of a module
		if len(words) == 0 {
			return errors.New("Module config specified without value")
		}
		return errors.New(noModules)
	case name == "sentinel":
		return errors.New("sentinel directive while not in sentinel mode")
	default:
		return badDirective(l.c, name)
	}
	return nil
}

// noModules is what to do in place of modules and their directives.
const noModules = "vigil does not load modules: remove the line (Bloom filters are built in)"

// rename keeps a rename-command if the commands allow it.
func (l *loader) rename(from, to string) error {
	if l.table == nil {
		table, err := commands.NewTable(groups.All())
		if err != nil {
			return err
		}
		l.table = table
	}
	if err := l.table.Rename(from, to); err != nil {
		return err
	}
	l.c.mu.renames = append(l.c.mu.renames, Rename{From: from, To: to})
	return nil
}

func (l *loader) ignored(name string) {
	l.c.warnings = append(l.c.warnings, fmt.Sprintf("directive '%s' has no effect in vigil and is ignored", name))
}

// include reads a file, or those that a pattern matches: none is fine then.
func (l *loader) include(path string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("more than %d files include each other", maxDepth)
	}
	if !strings.ContainsAny(path, "*?[") {
		return l.file(path, depth)
	}
	paths, err := l.glob(path)
	if err != nil {
		return err
	}
	for _, p := range paths {
		if err := l.file(p, depth); err != nil {
			return err
		}
	}
	return nil
}

// badDirective names the nearest directive, if one is near.
func badDirective(c *Config, name string) error {
	const reason = "Bad directive or wrong number of arguments"
	if near := c.nearest(name); near != "" && near != name {
		return fmt.Errorf("%s: unknown directive '%s', did you mean '%s'?", reason, name, near)
	}
	return errors.New(reason)
}

// splitWords splits a line by the rules of inline commands.
func splitWords(line string) ([]string, bool) {
	parts, ok := resp.SplitWords([]byte(line), nil)
	words := make([]string, len(parts))
	for i, p := range parts {
		words[i] = string(p)
	}
	return words, ok
}

// quote is the inverse of splitWords for one word.
func quote(s string) string { return string(commands.AppendQuoted(nil, []byte(s))) }
