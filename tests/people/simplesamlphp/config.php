<?php
$folder = getenv('IDP_FOLDER');
$config = [
    'baseurlpath' => getenv('IDP_ADDRESS') . '/',
    'certdir' => "$folder/",
    'loggingdir' => "$folder/",
    'datadir' => "$folder/",
    'tempdir' => "$folder/",
    'attributenamemapdir' => '/etc/simplesamlphp/attributemap/',
    'metadatadir' => __DIR__ . '/metadata/',
    'metadata.sources' => [['type' => 'flatfile'], ['type' => 'xml', 'file' => "$folder/services.xml"]],
    'secretsalt' => 'only for the tests',
    'auth.adminpassword' => bin2hex(random_bytes(16)),
    'enable.saml20-idp' => true,
    'module.enable' => ['exampleauth' => true],
    'logging.handler' => 'file',
    'session.cookie.secure' => false,
    'session.cookie.samesite' => 'Lax',
    'session.phpsession.savepath' => $folder,
    // Attributes have the names that federations agreed on.
    'authproc.idp' => [10 => ['class' => 'core:AttributeMap', 'name2oid']],
];
