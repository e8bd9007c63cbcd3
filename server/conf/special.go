package conf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/vigildb/vigil/commands"
)

// savePoints is pairs of seconds and changes. In a file each line adds to the
// ones before it; the first replaces the default, and "" removes all.
func savePoints() kind {
	errSave := errors.New("Invalid save parameters")
	return kind{
		title: "pairs of seconds and changes, or `\"\"` for none", many: true,
		parse: func(old value, words []string, again bool) (value, error) {
			if len(words) == 1 && words[0] == "" {
				return value{}, nil
			}
			if len(words)%2 != 0 {
				return value{}, errSave
			}
			var v value
			if again {
				v.save = append(v.save, old.save...)
			}
			for i := 0; i < len(words); i += 2 {
				seconds, err1 := strconv.ParseInt(words[i], 10, 64)
				changes, err2 := strconv.ParseInt(words[i+1], 10, 64)
				if err1 != nil || err2 != nil || seconds < 1 || changes < 0 {
					return value{}, errSave
				}
				v.save = append(v.save, SavePoint{Seconds: seconds, Changes: changes})
			}
			v.text = strings.Join(saveLines(v), " ")
			return v, nil
		},
		lines: func(v value) []string {
			if len(v.save) == 0 {
				return []string{`""`}
			}
			return saveLines(v)
		},
	}
}

func saveLines(v value) []string {
	lines := make([]string, len(v.save))
	for i, p := range v.save {
		lines[i] = fmt.Sprintf("%d %d", p.Seconds, p.Changes)
	}
	return lines
}

// outputLimits is class, hard limit, soft limit and seconds, once for each
// class that changes.
func outputLimits() kind {
	shown := [...]string{NormalClient: "normal", ReplicaClient: "slave", PubSubClient: "pubsub"}
	return kind{
		title: "class (`normal`, `replica`, `pubsub`), hard limit, soft limit, seconds; repeated", many: true,
		parse: func(old value, words []string, _ bool) (value, error) {
			if len(words)%4 != 0 {
				return value{}, errors.New("Wrong number of arguments in buffer limit configuration.")
			}
			v := value{limits: old.limits}
			for i := 0; i < len(words); i += 4 {
				class, ok := parseClass(words[i])
				if !ok {
					return value{}, errors.New("Invalid client class specified in buffer limit configuration.")
				}
				hard, ok1 := parseMemory(words[i+1])
				soft, ok2 := parseMemory(words[i+2])
				seconds, err := strconv.ParseInt(words[i+3], 10, 32)
				if !ok1 || !ok2 || err != nil || min(hard, soft, seconds) < 0 {
					return value{}, errors.New("Error in hard, soft or soft_seconds setting in buffer limit configuration.")
				}
				v.limits[class] = OutputLimit{Hard: hard, Soft: soft, SoftSeconds: seconds}
			}
			var parts []string
			for class, l := range v.limits {
				parts = append(parts, fmt.Sprintf("%s %d %d %d", shown[class], l.Hard, l.Soft, l.SoftSeconds))
			}
			v.text = strings.Join(parts, " ")
			return v, nil
		},
		lines: func(v value) []string {
			var lines []string
			for class, l := range v.limits {
				name := shown[class]
				if ClientClass(class) == ReplicaClient {
					name = "replica"
				}
				lines = append(lines, fmt.Sprintf("%s %s %s %d", name, formatMemory(l.Hard), formatMemory(l.Soft), l.SoftSeconds))
			}
			return lines
		},
	}
}

func parseClass(s string) (ClientClass, bool) {
	switch strings.ToLower(s) {
	case "normal":
		return NormalClient, true
	case "slave", "replica":
		return ReplicaClient, true
	case "pubsub":
		return PubSubClient, true
	}
	return 0, false
}

// oomScores is three numbers.
func oomScores() kind {
	return kind{
		title: "three integers, -2000 to 2000", many: true, lines: plain,
		parse: func(_ value, words []string, _ bool) (value, error) {
			if len(words) != 3 {
				return value{}, errWordCount
			}
			for _, w := range words {
				if n, err := strconv.Atoi(w); err != nil || n < -2000 || n > 2000 {
					return value{}, errors.New("Invalid oom-score-adj-values, elements must be between -2000 and 2000.")
				}
			}
			return value{text: strings.Join(words, " ")}, nil
		},
	}
}

// port is the number of a port, or "auto".
func port() kind {
	k := integer(0, 65535)
	inner := k.parse
	k.title += ", or `auto`"
	k.parse = func(old value, words []string, again bool) (value, error) {
		if len(words) == 1 && strings.EqualFold(words[0], "auto") {
			return value{text: "auto", n: PortAuto}, nil
		}
		return inner(old, words, again)
	}
	return k
}

// addresses is up to 16 addresses to listen on.
func addresses() kind {
	return kind{
		title: "addresses, or `\"\"` for none", many: true,
		parse: func(_ value, words []string, _ bool) (value, error) {
			if len(words) > 16 {
				return value{}, errors.New("Too many bind addresses specified.")
			}
			if len(words) == 1 && words[0] == "" {
				words = nil
			}
			return value{text: strings.Join(words, " "), words: words}, nil
		},
		lines: func(v value) []string {
			if len(v.words) == 0 {
				return []string{`""`}
			}
			shown := make([]string, len(v.words))
			for i, w := range v.words {
				shown[i] = w
				if strings.Trim(w, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ:.*%-_") != "" || w == "" {
					shown[i] = quote(w)
				}
			}
			return []string{strings.Join(shown, " ")}
		},
	}
}

// percentiles is any number of numbers from 0 to 100.
func percentiles() kind {
	return kind{
		title: "numbers from 0 to 100, or `\"\"` for none", many: true,
		parse: func(_ value, words []string, _ bool) (value, error) {
			if len(words) == 1 && words[0] == "" {
				return value{}, nil
			}
			var v value
			var shown []string
			for _, w := range words {
				p, err := strconv.ParseFloat(w, 64)
				if err != nil || p != p {
					return value{}, errors.New("Invalid latency-tracking-info-percentiles parameters")
				}
				if p < 0 || p > 100 {
					return value{}, errors.New("latency-tracking-info-percentiles parameters should sit between [0.0,100.0]")
				}
				s := strings.TrimRight(strconv.FormatFloat(p, 'f', 6, 64), "0")
				shown = append(shown, strings.TrimSuffix(s, "."))
				v.numbers = append(v.numbers, p)
			}
			v.text = strings.Join(shown, " ")
			return v, nil
		},
		lines: func(v value) []string {
			if v.text == "" {
				return []string{`""`}
			}
			return plain(v)
		},
	}
}

// primary is the host and the port of a primary, or "no one".
func primary() kind {
	return kind{
		title: "host and port, or `no one`", many: true,
		parse: func(_ value, words []string, _ bool) (value, error) {
			if len(words) != 2 {
				return value{}, errWordCount
			}
			if strings.EqualFold(words[0], "no") && strings.EqualFold(words[1], "one") {
				return value{}, nil
			}
			if port, err := strconv.Atoi(words[1]); err != nil || port < 0 || port > 65535 {
				return value{}, errors.New("Invalid master port")
			}
			return value{text: words[0] + " " + words[1]}, nil
		},
		lines: func(v value) []string {
			if v.text == "" {
				return []string{"no one"}
			}
			at := strings.LastIndexByte(v.text, ' ')
			return []string{quote(v.text[:at]) + v.text[at:]}
		},
	}
}

// directory is a directory that exists, kept as an absolute path.
func directory() kind {
	return single("path of a directory", func(s string) (value, error) {
		info, err := os.Stat(s)
		if err == nil && !info.IsDir() {
			err = syscall.ENOTDIR
		}
		if err == nil {
			s, err = filepath.Abs(s)
		}
		if err != nil {
			return value{}, systemText(err)
		}
		return value{text: s}, nil
	}, nil)
}

// systemText is the bare text of an error of the operating system, with a
// capital letter as in the C library.
func systemText(err error) error {
	var number syscall.Errno
	if !errors.As(err, &number) {
		return err
	}
	s := number.Error()
	return errors.New(strings.ToUpper(s[:1]) + s[1:])
}

// eventFlags is the characters of notify-keyspace-events.
func eventFlags() kind {
	return single("characters of `Ag$lshzxeKEtmdnocaSTIV`", func(s string) (value, error) {
		events, ok := commands.ParseEvents(s)
		if !ok {
			return value{}, errors.New("Invalid event class character. Use 'Ag$lshzxeKEtmdn'.")
		}
		return value{text: events.String(), n: int64(events)}, nil
	}, func(v value) []string {
		s := v.text
		if strings.HasPrefix(s, "A") && commands.EventClass(v.n)&commands.EventNew != 0 {
			s += "n" // which the text leaves out
		}
		return []string{quote(s)}
	})
}

func fileName(directive, what string, emptyAllowed bool) func(string) error {
	return func(s string) error {
		if s == "" && !emptyAllowed {
			return fmt.Errorf("%s can't be empty", directive)
		}
		if strings.ContainsAny(s, `/\`) {
			return fmt.Errorf("%s can't be a path, just a %s", directive, what)
		}
		return nil
	}
}

func saveExcludesNoSave(bits int64) error {
	const both = ShutdownSave | ShutdownNoSave
	if ShutdownFlags(bits)&both == both {
		return errors.New("shutdown options SAVE and NOSAVE can't be used simultaneously")
	}
	return nil
}

func noActiveDefrag(_ value, words []string, _ bool) (value, error) {
	v, err := yesNo().parse(value{}, words, false)
	if err == nil && v.n == 1 {
		err = errors.New("Active defragmentation cannot be enabled: it requires a Redis server compiled with a " +
			"modified Jemalloc like the one shipped by default with the Redis source distribution")
	}
	return v, err
}
