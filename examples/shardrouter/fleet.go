package main

import (
	"context"
	"errors"
	"net"

	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/server"
)

// fleet is some vigil servers in this process, on loopback ports.
type fleet struct {
	servers []*server.Server
	served  []chan error // of capacity 1: Serve answers once
	clients map[string]*redis.Client
}

// startFleet starts one server in memory for each name.
func startFleet(names ...string) (*fleet, error) {
	f := &fleet{clients: map[string]*redis.Client{}}
	for _, name := range names {
		srv, err := server.Open(context.Background(), server.Options{InMemory: true, Seed: 1})
		if err != nil {
			return nil, errors.Join(err, f.close())
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, errors.Join(err, srv.Close(context.Background()), f.close())
		}
		done := make(chan error, 1)
		go func() { done <- srv.Serve(l) }() // ends with srv.Close
		f.servers, f.served = append(f.servers, srv), append(f.served, done)
		f.clients[name] = redis.NewClient(&redis.Options{Addr: l.Addr().String()})
	}
	return f, nil
}

// sizes returns how many keys each server has.
func (f *fleet) sizes(ctx context.Context) (map[string]int, error) {
	out := map[string]int{}
	for name, c := range f.clients {
		n, err := c.DBSize(ctx).Result()
		if err != nil {
			return nil, err
		}
		out[name] = int(n)
	}
	return out, nil
}

func (f *fleet) close() error {
	var failures []error
	for _, c := range f.clients {
		failures = append(failures, c.Close())
	}
	for i, srv := range f.servers {
		failures = append(failures, srv.Close(context.Background()))
		if err := <-f.served[i]; !errors.Is(err, server.ErrClosed) {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}
