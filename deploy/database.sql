-- The role and the database of the service, for a superuser's psql. The role owns its database and nothing else.
-- The password comes from the file that DATABASE_PASSWORD_FILE names, or else from standard input.
\set ON_ERROR_STOP on
\set password `cat "${DATABASE_PASSWORD_FILE:--}"`
CREATE ROLE portal LOGIN PASSWORD :'password';
CREATE DATABASE portal OWNER portal ENCODING 'UTF8' TEMPLATE template0;
REVOKE ALL ON DATABASE portal FROM PUBLIC;
