package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"
)

// stateColumns are what a schedule knows of a node, in the order of the columns that
// an export writes: those of SCHED.NODES ... WITH. An import reads them by SCHED.ADD
// and SCHED.PAUSE, and takes the estimate of a node that was looked at for its rate.
// nats are not taken over: a signal that was not answered is to be sent again.
var stateColumns = []string{"name", "rate", "weight", "decay", "arrival", "cost", "max-age", "precision", "recall", "group", "deadline",
	"age", "probes", "items", "estimate", "nats", "paused-ms"}

const (
	exportCount = 1000 // nodes of a reply
	importNodes = 100  // nodes of a command
	importAhead = 16   // commands that are sent before the first reply is read
)

// transfer does what -export and -import ask for.
func (o *options) transfer(stdin io.Reader, stdout io.Writer) error {
	address := o.exports + o.imports
	c, err := dial(address)
	if err != nil {
		return err
	}
	defer c.Close()
	if o.exports != "" {
		if err := o.export(c, stdout); err != nil {
			return fmt.Errorf("export %s from %s: %w", o.key, address, err)
		}
		return nil
	}
	in := stdin
	if o.file != "-" {
		f, err := os.Open(o.file)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	if err := o.load(c, in); err != nil {
		return fmt.Errorf("import %s to %s: %w", o.file, address, err)
	}
	return nil
}

// stateWriter writes nodes with their columns.
type stateWriter interface {
	write(fields []string) error
	flush() error
}

func (o *options) export(c *conn, stdout io.Writer) error {
	out := bufio.NewWriterSize(stdout, 1<<18)
	w := stateWriter(&csvState{out: out})
	if o.format == "json" {
		w = &jsonState{out: out}
	}
	fields := make([]string, len(stateColumns))
	for cursor := "0"; ; {
		c.send(append([]string{"SCHED.NODES", o.key, cursor, "COUNT", strconv.Itoa(exportCount), "WITH"}, stateColumns[1:]...)...)
		got, err := c.reply()
		if err != nil {
			return err
		}
		page, ok := got.([]any)
		if !ok || len(page) != 2 {
			return fmt.Errorf("not a page of nodes: %.60v", got)
		}
		rows, _ := page[1].([]any)
		for _, r := range rows {
			row, _ := r.([]any)
			if len(row) != len(fields) {
				return fmt.Errorf("not a node: %.60v", r)
			}
			for i, v := range row {
				fields[i] = fmt.Sprint(v)
			}
			if err := w.write(fields); err != nil {
				return err
			}
		}
		if cursor, _ = page[0].(string); cursor == "0" || cursor == "" {
			return w.flush()
		}
	}
}

// csvState writes a header, and names in quotes, since they may begin or end with
// anything.
type csvState struct {
	out   *bufio.Writer
	begun bool
}

func (w *csvState) write(fields []string) error {
	if !w.begun {
		w.begun = true
		w.out.WriteString(strings.Join(stateColumns, ",") + "\n")
	}
	for i, f := range fields {
		if strings.Contains(f, "\r") {
			return fmt.Errorf("node %q: CSV cannot keep a carriage return, -format json can", fields[0])
		}
		if i > 0 {
			w.out.WriteByte(',')
		}
		if textual(stateColumns[i]) && f != "" {
			f = `"` + strings.ReplaceAll(f, `"`, `""`) + `"`
		}
		w.out.WriteString(f)
	}
	return w.out.WriteByte('\n')
}

func (w *csvState) flush() error {
	if !w.begun {
		w.out.WriteString(strings.Join(stateColumns, ",") + "\n")
	}
	return w.out.Flush()
}

// jsonState writes an object a line.
type jsonState struct{ out *bufio.Writer }

func (w *jsonState) write(fields []string) error {
	for i, f := range fields {
		w.out.WriteByte("{,"[min(i, 1)])
		w.out.WriteString(`"` + stateColumns[i] + `":`)
		if !utf8.ValidString(f) {
			return fmt.Errorf("node %q: JSON cannot keep bytes that are not UTF-8, -format csv can", fields[0])
		}
		if textual(stateColumns[i]) {
			b, err := json.Marshal(f)
			if err != nil {
				return err
			}
			f = string(b)
		}
		w.out.WriteString(f)
	}
	_, err := w.out.WriteString("}\n")
	return err
}

func (w *jsonState) flush() error { return w.out.Flush() }

// textual says that a column is not a number.
func textual(column string) bool { return column == "name" || column == "group" }

// load adds nodes to a schedule. Those of commands before one that the server
// refuses are there afterwards: the import can be repeated.
func (o *options) load(c *conn, in io.Reader) error {
	l := &loader{conn: c, key: o.key}
	buffered := bufio.NewReader(in)
	read := readState
	if first, err := buffered.Peek(1); err == nil && first[0] == '{' {
		read = readJSONState
	}
	err := read(buffered, func(line int, field map[string]string) error {
		args, err := addition(field)
		if err != nil {
			return err
		}
		return l.add(line, args, field)
	})
	return errors.Join(err, l.finish())
}

// readState reads CSV.
func readState(in io.Reader, visit func(int, map[string]string) error) error {
	return lines(in, stateColumns, stateColumns, visit)
}

// readJSONState reads an object a line.
func readJSONState(in io.Reader, visit func(int, map[string]string) error) error {
	d := json.NewDecoder(in)
	d.UseNumber()
	for line := 1; ; line++ {
		var object map[string]any
		if err := d.Decode(&object); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("object %d: %w", line, err)
		}
		field := map[string]string{}
		for name, v := range object {
			if _, err := header([]string{name}, stateColumns); err != nil {
				return fmt.Errorf("object %d: %w", line, err)
			}
			field[name] = fmt.Sprint(v)
		}
		if err := visit(line, field); err != nil {
			return fmt.Errorf("object %d: %w", line, err)
		}
	}
}

// additions are the options of SCHED.ADD by column. The server leaves what is -1 to be
// learnt, where that is so without the option.
var additions = []struct{ column, option string }{
	{"rate", "RATE"}, {"weight", "WEIGHT"}, {"decay", "DECAY"}, {"arrival", "ARRIVAL"}, {"cost", "COST"}, {"max-age", "MAXAGE"},
	{"precision", "PRECISION"}, {"recall", "RECALL"}, {"group", "GROUP"}, {"deadline", "DEADLINE"}, {"age", "AGE"},
}

// addition returns the arguments of SCHED.ADD for a node.
func addition(field map[string]string) ([]string, error) {
	if field["name"] == "" {
		return nil, errors.New("a node has no name")
	}
	args := []string{field["name"]}
	seen := field["probes"] != "" && field["probes"] != "0"
	for _, a := range additions {
		v := field[a.column]
		if a.column == "rate" && seen {
			v = or(field["estimate"], v) // with SEEN it is what was learnt, and learning goes on
		}
		if v == "" {
			continue
		}
		if !textual(a.column) {
			f, err := strconv.ParseFloat(v, 64)
			if err != nil {
				return nil, fmt.Errorf("%s is %q, want a number", a.column, v)
			}
			if f == -1 {
				continue
			}
		}
		args = append(args, a.option, v)
	}
	if seen {
		args = append(args, "SEEN", field["probes"], or(field["items"], "0"))
	}
	return args, nil
}

func or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// loader sends nodes in commands of some, several at a time.
type loader struct {
	*conn
	key    string
	args   []string
	nodes  int
	first  int      // line of the first node of the command
	sent   []string // what each command that has no reply yet is about
	failed error
}

func (l *loader) add(line int, args []string, field map[string]string) error {
	if mayBeOption(args[0]) {
		l.cut(line - 1)
	}
	if l.nodes == 0 {
		l.first = line
	}
	l.args = append(l.args, args...)
	if l.nodes++; l.nodes == importNodes {
		l.cut(line)
	}
	if pause := field["paused-ms"]; pause != "" && pause != "0" {
		l.cut(line)
		if pause == "-1" {
			pause = "0"
		}
		l.send("SCHED.PAUSE", l.key, pause, args[0])
		l.await("the pause of line " + strconv.Itoa(line))
	}
	return l.failed
}

// mayBeOption says that a name could be taken for an option of SCHED.ADD unless it
// comes first: it is one, has one before =, or is in capitals.
func mayBeOption(name string) bool {
	word, _, _ := strings.Cut(strings.ToUpper(name), "=")
	for _, a := range additions {
		if word == a.option {
			return true
		}
	}
	return word == "SEEN" || word == "RETRY" || word == "AGO" || word == name
}

// cut sends the nodes that are waiting.
func (l *loader) cut(line int) {
	if l.nodes == 0 {
		return
	}
	l.send(append([]string{"SCHED.ADD", l.key}, l.args...)...)
	l.args, l.nodes = l.args[:0], 0
	l.await(fmt.Sprintf("lines %d to %d", l.first, line))
}

// await reads replies if many are missing.
func (l *loader) await(what string) {
	if l.sent = append(l.sent, what); len(l.sent) >= importAhead {
		l.settle()
	}
}

func (l *loader) settle() {
	for _, what := range l.sent {
		_, err := l.reply()
		var refused serverError
		if l.failed == nil && err != nil {
			l.failed = fmt.Errorf("%s: %w", what, err)
		}
		if err != nil && !errors.As(err, &refused) {
			break // the connection is lost
		}
	}
	l.sent = l.sent[:0]
}

func (l *loader) finish() error {
	if l.failed == nil {
		l.cut(l.first + l.nodes - 1)
	}
	had := l.failed
	if l.settle(); had != nil {
		return nil // it was told already
	}
	return l.failed
}
