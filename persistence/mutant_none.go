//go:build !mutants

package persistence

const planted = noMutant
