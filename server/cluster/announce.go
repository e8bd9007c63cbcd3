package cluster

import (
	"context"
	"fmt"
	"slices"

	"github.com/vigildb/vigil/server/cluster/topology"
)

// Announced returns the names of the servers of the cluster, nil outside one.
func (n *Node) Announced() *topology.Announced {
	if n.runner.Load() == nil || n.others == nil {
		return nil
	}
	return n.others.names.Look()
}

// members returns the addresses of clients of the other members of the own group.
func (o *others) members() map[topology.Server]string {
	all := map[topology.Server]string{}
	for id, address := range o.n.addresses() {
		if id != o.n.self.Member && address != "" {
			all[topology.Server{Group: o.name, Member: id}] = address
		}
	}
	return all
}

// servers returns the addresses of clients of all other servers of the cluster.
func (o *others) servers() map[topology.Server]string {
	all := o.members()
	o.mu.Lock()
	defer o.mu.Unlock()
	for name, g := range o.table {
		for _, m := range g.Members {
			if m.Address != "" {
				all[topology.Server{Group: name, Member: m.ID}] = m.Address
			}
		}
	}
	return all
}

// announce exchanges names with those servers that are due.
func (o *others) announce() {
	o.names.Look()
	now := o.n.monotonic()
	if !o.names.Ripe(now) {
		return
	}
	due := o.names.Due(now, o.servers())
	request := slices.Concat([]byte{namesRequest}, o.names.Encode())
	for s, address := range due {
		o.contact(address, func(ctx context.Context) error {
			reply, err := o.askServer(ctx, address, topology.MeshID(s.Group, s.Member), request)
			if err == nil {
				err = o.names.Take(reply, o.servers())
			}
			if err != nil {
				return fmt.Errorf("names of servers: %w", err)
			}
			return nil
		})
	}
}
