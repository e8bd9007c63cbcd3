package placement_test

import (
	"fmt"

	"github.com/vigildb/vigil/placement"
)

func Example() {
	m, err := placement.NewMap(placement.Options{Seed: 7})
	if err != nil {
		panic(err)
	}
	if err := m.Set(
		placement.Unit{Name: "small", Capacity: 1},
		placement.Unit{Name: "large", Capacity: 3},
	); err != nil {
		panic(err)
	}
	p, err := m.PreviewSet(placement.Unit{Name: "new", Capacity: 4})
	if err != nil {
		panic(err)
	}
	fmt.Printf("moves %.3f, optimum %.3f\n", p.Moved, p.Optimum)
	for _, pair := range p.Pairs {
		fmt.Printf("%s to %s: %.3f\n", pair.From, pair.To, pair.Share)
	}
	// Output:
	// moves 0.500, optimum 0.500
	// small to new: 0.125
	// large to new: 0.375
}
