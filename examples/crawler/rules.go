package main

import (
	"bytes"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// rules are what a robots.txt says to one crawler (RFC 9309).
type rules struct {
	list  []rule
	delay time.Duration // Crawl-delay, 0 if there is none
}

// rule allows or disallows the paths that begin as its pattern says: * stands for
// anything, and $ at the end for the end of the path.
type rule struct {
	allow   bool
	pattern string
}

// longestPattern is that of the longest pattern that counts: longer ones match no
// address that anybody uses.
const longestPattern = 4096

// rulesFor returns the lines of a robots.txt that hold for a crawler: those of all
// groups with its name, in any case, or if there are none those for all crawlers.
// Lines that make no sense are left out. A group with a name that is no name is
// nobody's, but it is one: its rules are not those of the group before.
func rulesFor(body []byte, crawler string) string {
	var own, all strings.Builder
	named, toOwn, toAll := false, false, false
	begins := false // the line before was a User-agent
	for line := range bytes.FieldsFuncSeq(bytes.TrimPrefix(body, []byte("\ufeff")), func(r rune) bool { return r == '\n' || r == '\r' }) {
		line, _, _ = bytes.Cut(line, []byte("#"))
		before, after, _ := bytes.Cut(line, []byte(":"))
		key, value := strings.ToLower(string(bytes.TrimSpace(before))), string(bytes.TrimSpace(after))
		switch key {
		case "user-agent":
			if !begins {
				toOwn, toAll = false, false
			}
			begins = true
			name := productOf(value)
			toAll = toAll || name == "*"
			toOwn = toOwn || strings.EqualFold(name, crawler)
			named = named || toOwn
			continue
		case "allow", "disallow", "crawl-delay":
			begins = false
		}
		if text := ruleText(key, value); toOwn {
			own.WriteString(text)
		} else if toAll {
			all.WriteString(text)
		}
	}
	if named {
		return own.String()
	}
	return all.String()
}

// productOf is the name in a User-Agent such as "vigil-crawler/0.1 (+https://a.example)".
func productOf(agent string) string {
	if end := strings.IndexAny(agent, "/ \t"); end >= 0 {
		return agent[:end]
	}
	return agent
}

// ruleText is a line as readRules reads it, with its end; nothing if it is no rule.
func ruleText(key, value string) string {
	switch key {
	case "allow", "disallow":
		if value == "" || len(value) > longestPattern {
			return ""
		}
		if value[0] != '/' && value[0] != '*' {
			value = "/" + value
		}
		return key + " " + escaped(value) + "\n"
	case "crawl-delay":
		if d, err := strconv.ParseFloat(value, 64); err == nil && d >= 0 && d <= 1e9 {
			return fmt.Sprintf("%s %d\n", key, int64(d*1000))
		}
	}
	return ""
}

// readRules reads what rulesFor answered. Of several delays the longest counts.
func readRules(text string) (r rules) {
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch key {
		case "allow", "disallow":
			r.list = append(r.list, rule{key == "allow", value})
		case "crawl-delay":
			if ms, err := strconv.ParseInt(value, 10, 64); err == nil && ms <= 1e12 {
				r.delay = max(r.delay, time.Duration(ms)*time.Millisecond)
			}
		}
	}
	return r
}

// allows says whether a path may be asked for: the longest pattern that matches
// decides, of two alike the one that allows. Without any all is allowed.
func (r *rules) allows(path string) bool {
	longest, allow := 0, true
	for _, one := range r.list {
		n := len(one.pattern)
		if (n > longest || n == longest && one.allow) && matches(one.pattern, path) {
			longest, allow = n, one.allow
		}
	}
	return allow
}

// matches takes each part between two * where it comes first, which leaves most
// for the others.
func matches(pattern, path string) bool {
	pattern, whole := strings.CutSuffix(pattern, "$")
	parts := strings.Split(pattern, "*")
	path, ok := strings.CutPrefix(path, parts[0])
	if !ok || len(parts) == 1 {
		return ok && (!whole || path == "")
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		_, after, ok := strings.Cut(path, part)
		if !ok {
			return false
		}
		path = after
	}
	if whole {
		return strings.HasSuffix(path, parts[last])
	}
	return strings.Contains(path, parts[last])
}

// escaped writes a path or a pattern in the one way in which they are compared:
// with escapes where they are needed only, in upper case.
func escaped(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		ch, coded := s[i], s[i] <= ' ' || s[i] >= 0x7f
		if ch == '%' && i+2 < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				ch, i = byte(v), i+2
				coded = !unreserved(ch)
			}
		}
		if coded {
			fmt.Fprintf(&b, "%%%02X", ch)
		} else {
			b.WriteByte(ch)
		}
	}
	return b.String()
}

// unreserved says that RFC 3986 lets a byte stand for itself everywhere.
func unreserved(ch byte) bool {
	return 'a' <= ch && ch <= 'z' || 'A' <= ch && ch <= 'Z' || '0' <= ch && ch <= '9' || strings.IndexByte("-._~", ch) >= 0
}

// split cuts an address into what robots.txt is asked of and what its rules
// match.
func split(u *url.URL) (origin, path string) {
	path = u.EscapedPath()
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return strings.ToLower(u.Scheme + "://" + u.Host), escaped(path)
}
