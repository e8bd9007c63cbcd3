package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// options are the flags of the command.
type options struct {
	visitors             []int
	think, warm, length  time.Duration
	rounds, workers      int
	seed                 uint64
	service, vigil, into string
	redis                string
	load                 string // load average before the run
}

// Run is the command `vigil-session bench`. Returns flag.ErrHelp after -h;
// flags that make no sense are errors that wrap usage.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer, usage error) error {
	o, err := readOptions(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return err
	} else if err != nil {
		return fmt.Errorf("%w: bench: %w", usage, err)
	}
	o.load = loadAverage()
	rows, err := o.measure(ctx, stderr)
	if err != nil {
		return err
	}
	text := report(rows, o)
	if o.into != "" {
		return insert(o.into, text)
	}
	_, err = io.WriteString(stdout, text)
	return err
}

func readOptions(args []string, stderr io.Writer) (o options, err error) {
	f := flag.NewFlagSet("vigil-session bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	visitors := f.String("visitors", "100,1000,5000", "visitors at once, a `list`")
	f.DurationVar(&o.think, "think", time.Second, "mean time that a visitor thinks between pages")
	f.DurationVar(&o.warm, "warm", 3*time.Second, "time before measuring")
	f.DurationVar(&o.length, "time", 10*time.Second, "time of measuring")
	f.IntVar(&o.rounds, "rounds", 3, "runs of each kind; the table has their medians")
	f.IntVar(&o.workers, "workers", 4, "workers of the microservice")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the times to think")
	f.StringVar(&o.vigil, "vigil", "", "vigil-server `program`; beside this one, or in PATH, by default")
	f.StringVar(&o.redis, "redis", "redis-server", "redis-server `program`; empty for vigil alone")
	f.StringVar(&o.into, "into", "", "write the table into this `document`, between its marks")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("%q is no flag", f.Arg(0))
	}
	for text := range strings.SplitSeq(*visitors, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 || n > 1e6 {
			return o, fmt.Errorf("-visitors: %q is no number of visitors", text)
		}
		o.visitors = append(o.visitors, n)
	}
	if o.think <= 0 || o.warm < 0 || o.length <= 0 || o.rounds < 1 || o.workers < 1 {
		return o, errors.New("-think, -time, -rounds and -workers must be more than 0, -warm not less")
	}
	return o, o.findPrograms()
}

// findPrograms looks for the microservice, which is this program, and for the
// servers.
func (o *options) findPrograms() (err error) {
	if o.service, err = os.Executable(); err != nil {
		return err
	}
	if o.vigil == "" {
		o.vigil = filepath.Join(filepath.Dir(o.service), "vigil-server")
		if _, err := os.Stat(o.vigil); err != nil {
			o.vigil = "vigil-server"
		}
	}
	if o.vigil, err = exec.LookPath(o.vigil); err != nil {
		return fmt.Errorf("-vigil: %w", err)
	}
	if o.redis != "" {
		if o.redis, err = exec.LookPath(o.redis); err != nil {
			return fmt.Errorf("-redis: %w", err)
		}
	}
	return nil
}
