<?php
// [documented]
// src/PatientSessions.php
namespace App;

use Symfony\Component\HttpFoundation\Session\Storage\Handler\RedisSessionHandler;

// Without the store, PHP would take a visitor's cookie for a wrong one and send another.
class PatientSessions extends RedisSessionHandler
{
    public function validateId($id): bool
    {
        try {
            return parent::validateId($id);
        } catch (\Throwable) {
            return true; // what reads the session next fails, and so does the page
        }
    }
}
// [end]
