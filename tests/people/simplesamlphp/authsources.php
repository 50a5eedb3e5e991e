<?php
$people = json_decode(file_get_contents(getenv('IDP_FOLDER') . '/people.json'), true);
$config = ['people' => ['exampleauth:UserPass'] + $people];
