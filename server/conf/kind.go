package conf

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/vigildb/vigil/commands"
)

// value is a directive's value. Text is what CONFIG GET shows and determines
// the rest.
type value struct {
	text    string
	n       int64 // of numbers; 1 for yes; the place in the list or the bits of an enumeration
	words   []string
	save    []SavePoint
	limits  [3]OutputLimit
	numbers []float64
}

// kind is a way of reading and writing values.
type kind struct {
	// title describes the accepted values in the documentation.
	title string
	// many is true if the value is several words on a line of a file.
	many bool
	// parse reads the words after the name. old is the value so far, which some
	// kinds add to; again reports that the same file or command line has set
	// the directive before.
	parse func(old value, words []string, again bool) (value, error)
	// lines are the values to write in a file, one for each line. If nil, the
	// text is written as one quoted word.
	lines func(v value) []string
}

// errWordCount is Redis's error for too many or too few words.
var errWordCount = errors.New("wrong number of arguments")

// single makes a kind of values that are one word.
func single(title string, parse func(string) (value, error), lines func(value) []string) kind {
	return kind{title: title, lines: lines, parse: func(_ value, words []string, _ bool) (value, error) {
		if len(words) != 1 {
			return value{}, errWordCount
		}
		return parse(words[0])
	}}
}

// plain writes the text as it is, without quotes.
func plain(v value) []string { return []string{v.text} }

func yesNo() kind {
	return single("`yes` or `no`", func(s string) (value, error) {
		switch {
		case strings.EqualFold(s, "yes"):
			return value{text: "yes", n: 1}, nil
		case strings.EqualFold(s, "no"):
			return value{text: "no"}, nil
		}
		return value{}, errors.New("argument must be 'yes' or 'no'")
	}, plain)
}

// text is any string. The checks are asked in order.
func text(checks ...func(string) error) kind {
	return single("text", func(s string) (value, error) {
		for _, check := range checks {
			if err := check(s); err != nil {
				return value{}, err
			}
		}
		return value{text: s}, nil
	}, nil)
}

// leastVersion is the oldest version that the server may report: clients of versions before have other
// expectations.
const leastVersion = "7.0.0"

// redisVersion is a version of Redis that the server may report.
func redisVersion() kind {
	return single("version, "+leastVersion+" to "+commands.RedisVersion, func(s string) (value, error) {
		n := commands.VersionNumber(s)
		if n < commands.VersionNumber(leastVersion) || n > commands.VersionNumber(commands.RedisVersion) {
			return value{}, fmt.Errorf("argument must be a version from %s to %s", leastVersion, commands.RedisVersion)
		}
		return value{text: s}, nil
	}, plain)
}

func between(n, low, high int64) error {
	if n < low || n > high {
		return fmt.Errorf("argument must be between %d and %d inclusive", low, high)
	}
	return nil
}

func integer(low, high int64) kind {
	title := fmt.Sprintf("integer, %d to %d", low, high)
	if high >= math.MaxInt32 {
		title = fmt.Sprintf("integer, %d or more", low)
	}
	if low == math.MinInt32 {
		title = "integer"
	}
	return single(title, func(s string) (value, error) {
		n, ok := parseInteger(s)
		if !ok {
			return value{}, errors.New("argument couldn't be parsed into an integer")
		}
		return value{text: s, n: n}, between(n, low, high)
	}, plain)
}

// clamped takes any integer from 0 and brings it between low and high.
func clamped(low, high int64) kind {
	k := integer(0, math.MaxInt32)
	inner := k.parse
	k.title = fmt.Sprintf("integer, %d to %d", low, high)
	k.parse = func(old value, words []string, again bool) (value, error) {
		v, err := inner(old, words, again)
		v.n = min(max(v.n, low), high)
		v.text = strconv.FormatInt(v.n, 10)
		return v, err
	}
	return k
}

func octal(low, high int64) kind {
	return single(fmt.Sprintf("octal number, %o to %o", low, high), func(s string) (value, error) {
		n, err := strconv.ParseInt(s, 8, 64)
		if err != nil {
			return value{}, errors.New("argument couldn't be parsed as an octal number")
		}
		if n < low || n > high {
			return value{}, fmt.Errorf("argument must be between %o and %o inclusive", low, high)
		}
		return value{text: strconv.FormatInt(n, 8), n: n}, nil
	}, plain)
}

func memory(low, high int64) kind {
	title := "bytes, with `kb`, `mb`, `gb` (1024) or `k`, `m`, `g` (1000)"
	return single(title, func(s string) (value, error) {
		n, ok := parseMemory(s)
		if !ok {
			return value{}, errors.New("argument must be a memory value")
		}
		return value{text: strconv.FormatInt(n, 10), n: n}, between(n, low, high)
	}, memoryLines)
}

// memoryOrPercent stores a percentage, at most -low, as a negative number.
func memoryOrPercent(low, high int64) kind {
	return single("bytes, or a percentage of maxmemory", func(s string) (value, error) {
		if digits, ok := strings.CutSuffix(s, "%"); ok {
			if n, ok := parseInteger(digits); ok && n >= 0 {
				if -n < low {
					return value{}, fmt.Errorf("percentage argument must be less or equal to %d", -low)
				}
				if n == 0 {
					return value{text: "0"}, nil
				}
				return value{text: s, n: -n}, nil
			}
		}
		n, ok := parseMemory(s)
		if !ok {
			return value{}, errors.New("argument must be a memory or percent value")
		}
		return value{text: strconv.FormatInt(n, 10), n: n}, between(n, low, high)
	}, func(v value) []string {
		if v.n < 0 {
			return plain(v)
		}
		return memoryLines(v)
	})
}

func memoryLines(v value) []string { return []string{formatMemory(v.n)} }

// oneOf is a word of a list; n is its place.
func oneOf(names ...string) kind {
	return single("one of `"+strings.Join(names, "`, `")+"`", func(s string) (value, error) {
		for i, name := range names {
			if strings.EqualFold(s, name) {
				return value{text: name, n: int64(i)}, nil
			}
		}
		return value{}, errNotListed(names)
	}, plain)
}

func errNotListed(names []string) error {
	return errors.New("argument(s) must be one of the following: " + strings.Join(names, ", "))
}

// flagsOf is any number of words of a list. The first means none of the others;
// n has a bit for each of these, beginning with 1. check returns an error for
// words that exclude each other.
func flagsOf(check func(bits int64) error, names ...string) kind {
	return kind{
		title: "any of `" + strings.Join(names, "`, `") + "`", many: true, lines: plain,
		parse: func(_ value, words []string, _ bool) (value, error) {
			bits, ok := int64(0), len(words) > 0
			for _, w := range words {
				found := false
				for i, name := range names {
					if strings.EqualFold(w, name) {
						bits |= 1 << i >> 1
						found = true
					}
				}
				ok = ok && found
			}
			if !ok {
				return value{}, errNotListed(names)
			}
			if err := check(bits); err != nil {
				return value{}, err
			}
			var on []string
			for i, name := range names[1:] {
				if bits&(1<<i) != 0 {
					on = append(on, name)
				}
			}
			if len(on) == 0 {
				on = names[:1]
			}
			return value{text: strings.Join(on, " "), n: bits}, nil
		},
	}
}

// parseInteger reads a decimal integer as Redis does: no plus, no leading
// zeros, no blanks.
func parseInteger(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == s
}

// parseMemory reads a size in bytes with an optional unit. Like Redis it takes
// no digits for zero. Sizes that do not fit become the lowest number, which is
// below every limit.
func parseMemory(s string) (int64, bool) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	var unit int64
	switch strings.ToLower(s[i:]) {
	case "", "b":
		unit = 1
	case "k":
		unit = 1000
	case "kb":
		unit = 1 << 10
	case "m":
		unit = 1000 * 1000
	case "mb":
		unit = 1 << 20
	case "g":
		unit = 1000 * 1000 * 1000
	case "gb":
		unit = 1 << 30
	default:
		return 0, false
	}
	if i == 0 {
		return 0, true
	}
	n, err := strconv.ParseInt(s[:i], 10, 64)
	if err != nil || n > math.MaxInt64/unit {
		return math.MinInt64, true
	}
	return n * unit, true
}

// formatMemory writes a size with the largest unit that divides it.
func formatMemory(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1 << 30, "gb"}, {1 << 20, "mb"}, {1 << 10, "kb"}} {
		if n != 0 && n%unit.size == 0 {
			return strconv.FormatInt(n/unit.size, 10) + unit.name
		}
	}
	return strconv.FormatInt(n, 10)
}
