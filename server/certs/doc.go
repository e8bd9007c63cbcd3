// Package certs makes the TLS configuration of the server of what the directives
// name: files of certificates and keys, versions, ciphers. A file that cannot be
// used is an error with the directive, the file and the reason, and so is a setting
// that crypto/tls does not have: nothing is dropped silently.
//
// It knows neither sockets nor directives other than by name, and keeps nothing:
// each call of [Options.Config] reads the files again.
package certs
