package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime/pprof"
	"strconv"

	"github.com/vigildb/vigil/server"
	"github.com/vigildb/vigil/server/conf"
)

// profile serves the cases of section throughput in this process, and writes where its
// processor time goes to file: the compiler reads it when it builds the programs.
func profile(o *options, file string) (err error) {
	dir, err := os.MkdirTemp("", "vigil-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	ours := &process{name: "vigil", port: freePort(), cmd: &exec.Cmd{Process: p}}
	config, err := conf.Load([]string{"--port", strconv.Itoa(ours.port), "--dir", dir, "--appendfsync", o.fsync}, nil)
	if err != nil {
		return err
	}
	srv, err := server.Open(context.Background(), server.Options{Config: config})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.Close(context.Background())) }()
	if _, err := srv.Listen(); err != nil {
		return err
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if err := pprof.StartCPUProfile(out); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	for _, c := range cases {
		for _, call := range c.before {
			if err := once(ours, words(call)); err != nil {
				return err
			}
		}
		if _, err := benchmark(ours, o.requests/max(c.costly, 1), c.pipeline, c.args); err != nil {
			return err
		}
	}
	return nil
}
