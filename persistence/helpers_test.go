package persistence

import "github.com/vigildb/vigil/structures"

type kindOf = structures.Kind
