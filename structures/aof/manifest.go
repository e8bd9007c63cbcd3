package aof

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// ManifestSuffix ends the name of a manifest.
const ManifestSuffix = ".manifest"

// ErrManifest is returned for a manifest that does not say which files there are.
var ErrManifest = errors.New("aof: damaged manifest")

// mostLine and mostLines bound the length and the number of lines of a manifest: one has two or three.
const mostLine, mostLines = 1024, 1 << 16

// Manifest is what a manifest says: the files to be loaded, in this order.
type Manifest struct {
	Base string   // "" if there is none
	Incr []string // may be empty
}

// Files returns the names of all files to be loaded.
func (m *Manifest) Files() []string {
	if m.Base == "" {
		return m.Incr
	}
	return append([]string{m.Base}, m.Incr...)
}

// ReadManifest reads a manifest:
//
//	file NAME seq NUMBER type b|i|h
//
// on each line, with the pairs in any order, others beside them, and names that may be
// quoted. Lines that begin with # are comments. One file at most is a base (b); the numbers
// of those that follow it (i) grow; history (h) is never loaded.
func ReadManifest(r io.Reader) (*Manifest, error) {
	m, last, lines := &Manifest{}, int64(0), 0
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 0, mostLine), mostLine)
	fail := func(what string, args ...any) (*Manifest, error) {
		return nil, fmt.Errorf("line %d: %s: %w", lines, fmt.Sprintf(what, args...), ErrManifest)
	}
	for in.Scan() {
		if lines++; lines > mostLines {
			return fail("too many")
		}
		line := bytes.TrimSpace(in.Bytes())
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		f, err := readLine(string(line))
		switch {
		case err != nil:
			return fail("%v", err)
		case f.kind == "h":
		case f.kind == "b" && m.Base == "":
			m.Base = f.name
		case f.kind == "i" && f.seq > last:
			m.Incr, last = append(m.Incr, f.name), f.seq
		default:
			return fail("file %q of type %q with number %d", f.name, f.kind, f.seq)
		}
	}
	if errors.Is(in.Err(), bufio.ErrTooLong) {
		lines++
		return fail("more than %d bytes", mostLine)
	}
	if in.Err() != nil {
		return nil, in.Err()
	}
	if len(m.Files()) == 0 {
		return fail("no file")
	}
	return m, nil
}

// manifestFile is a line of a manifest.
type manifestFile struct {
	name, kind string
	seq        int64
}

func readLine(line string) (f manifestFile, err error) {
	words, err := splitLine(line)
	if err != nil {
		return f, err
	}
	if len(words)%2 != 0 {
		return f, fmt.Errorf("%d words", len(words))
	}
	for i := 0; i < len(words); i += 2 {
		switch value := words[i+1]; strings.ToLower(words[i]) {
		case "file":
			f.name = value
		case "seq":
			if f.seq, err = strconv.ParseInt(value, 10, 64); err != nil || f.seq <= 0 {
				return f, fmt.Errorf("number %q", value)
			}
		case "type":
			f.kind = value
		}
	}
	if f.name == "" || f.name == "." || f.name == ".." || strings.ContainsAny(f.name, "/\\\x00") {
		return f, fmt.Errorf("name %q of a file", f.name)
	}
	if f.kind == "" || f.seq == 0 {
		return f, errors.New("no type or no number")
	}
	return f, nil
}

// splitLine splits a line into words, which may be quoted as in redis.conf.
func splitLine(line string) (words []string, err error) {
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimLeft(line, " \t") {
		var word string
		switch line[0] {
		case '"':
			quoted, err := strconv.QuotedPrefix(line)
			if err == nil {
				word, err = strconv.Unquote(quoted)
			}
			if err != nil {
				return nil, fmt.Errorf("quotes of %.40q", line)
			}
			line = line[len(quoted):]
		case '\'':
			end := strings.IndexByte(line[1:], '\'')
			if end < 0 {
				return nil, fmt.Errorf("quotes of %.40q", line)
			}
			word, line = line[1:1+end], line[end+2:]
		default:
			end := strings.IndexAny(line, " \t")
			if end < 0 {
				end = len(line)
			}
			word, line = line[:end], line[end:]
		}
		words = append(words, word)
	}
	return words, nil
}
